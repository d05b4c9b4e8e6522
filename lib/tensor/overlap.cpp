#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <utility>

#include <plumb/tensor/view.h>

namespace plumb {

namespace {

constexpr std::int64_t kExactElements = std::int64_t{1} << 16;

enum class Answer { no, yes, unknown };

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
    const std::int64_t quotient = a / b;
    return a % b < 0 ? quotient - 1 : quotient;
}

/// The sums of coefficient * v over integers v in low … high. Coefficients are positive.
class SumSet {
  public:
    void add(std::int64_t coefficient, std::int64_t low, std::int64_t high) {
        std::size_t at = 0;
        while (at < size_ && terms_[at].coefficient > coefficient)
            ++at;
        if (at < size_ && terms_[at].coefficient == coefficient) {
            terms_[at].low += low;
            terms_[at].high += high;
            return;
        }
        std::move_backward(terms_.begin() + static_cast<std::ptrdiff_t>(at),
                           terms_.begin() + static_cast<std::ptrdiff_t>(size_),
                           terms_.begin() + static_cast<std::ptrdiff_t>(size_ + 1));
        terms_[at] = {coefficient, low, high};
        ++size_;
    }

    /// Whether one of the sums lies in low … high; `unknown` after `budget` steps.
    Answer meets(std::int64_t low, std::int64_t high, std::int64_t budget) {
        summarise();
        budget_ = budget;
        return search(0, low, high);
    }

  private:
    struct Term {
        std::int64_t coefficient = 0;
        std::int64_t low = 0;
        std::int64_t high = 0;
    };

    /// What the terms from one on can reach: multiples of `step` in low … high, all of them if `dense`.
    struct Rest {
        std::int64_t low = 0;
        std::int64_t high = 0;
        std::int64_t step = 0;
        bool dense = true;
    };

    void summarise() {
        rest_[size_] = {};
        for (std::size_t k = size_; k-- > 0;) {
            const Term& term = terms_[k];
            const Rest& after = rest_[k + 1];
            Rest& rest = rest_[k];
            rest.low = after.low + term.coefficient * term.low;
            rest.high = after.high + term.coefficient * term.high;
            rest.step = std::gcd(after.step, term.coefficient);
            const bool fills = after.step == 0 || (rest.step == after.step &&
                                                   term.coefficient <= after.high - after.low + after.step);
            rest.dense = after.dense && fills;
        }
    }

    Answer search(std::size_t k, std::int64_t low, std::int64_t high) {
        const Rest& rest = rest_[k];
        low = std::max(low, rest.low);
        high = std::min(high, rest.high);
        if (low > high) return Answer::no;
        if (k == size_) return Answer::yes;
        if (floor_div(high, rest.step) * rest.step < low) return Answer::no;
        if (rest.dense) return Answer::yes;
        if (--budget_ < 0) return Answer::unknown;
        const Term& term = terms_[k];
        const Rest& after = rest_[k + 1];
        const std::int64_t c = term.coefficient;
        const std::int64_t first = std::max(term.low, -floor_div(after.high - low, c));
        const std::int64_t last = std::min(term.high, floor_div(high - after.low, c));
        for (std::int64_t v = first; v <= last; ++v)
            if (const Answer answer = search(k + 1, low - c * v, high - c * v); answer != Answer::no)
                return answer;
        return Answer::no;
    }

    std::array<Term, 2 * kMaxDims> terms_{};
    std::array<Rest, 2 * kMaxDims + 1> rest_{};
    std::size_t size_ = 0;
    std::int64_t budget_ = 0;
};

std::int64_t address(const std::byte* pointer) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(pointer));
}

/// A view's elements as byte addresses: base + sum of stride * index, strides positive.
struct Footprint {
    explicit Footprint(const ConstView& view)
        : base(address(view.data)), element(static_cast<std::int64_t>(size_of(view.dtype))) {
        for (int dim = 0; dim < view.ndim(); ++dim) {
            const std::int64_t stride = view.strides[dim] * element;
            if (view.shape[dim] == 1 || stride == 0) continue;
            if (stride < 0) base += stride * (view.shape[dim] - 1);
            extents.push_back(view.shape[dim]);
            strides.push_back(stride < 0 ? -stride : stride);
        }
    }

    [[nodiscard]] std::int64_t count() const { return element_count(extents); }

    [[nodiscard]] std::int64_t at(std::int64_t index) const {
        std::int64_t result = base;
        for (int dim = extents.ndim() - 1; dim >= 0; --dim) {
            result += index % extents[dim] * strides[dim];
            index /= extents[dim];
        }
        return result;
    }

    std::int64_t base;
    std::int64_t element;
    Shape extents;
    Strides strides;
};

/// Element by element: sorts one side piece by piece and looks the other side up in it.
bool share_a_byte(const Footprint& a, const Footprint& b) {
    std::array<std::int64_t, 2048> piece;
    const std::int64_t count_a = a.count();
    const std::int64_t count_b = b.count();
    for (std::int64_t start = 0; start < count_a; start += static_cast<std::int64_t>(piece.size())) {
        const std::int64_t stop = std::min(count_a, start + static_cast<std::int64_t>(piece.size()));
        const auto end = piece.begin() + (stop - start);
        for (std::int64_t i = start; i < stop; ++i)
            piece[static_cast<std::size_t>(i - start)] = a.at(i);
        std::sort(piece.begin(), end);
        for (std::int64_t j = 0; j < count_b; ++j) {
            const std::int64_t at = b.at(j);
            const auto found = std::lower_bound(piece.begin(), end, at - a.element + 1);
            if (found != end && *found < at + b.element) return true;
        }
    }
    return false;
}

}  // namespace

bool overlaps_itself(const ConstView& view) {
    if (view.element_count() <= 1) return false;
    for (int dim = 0; dim < view.ndim(); ++dim)
        if (view.shape[dim] > 1 && view.strides[dim] == 0) return true;
    // Two indices meet iff their difference, which is not all zero, moves by nothing. Its first entry that is
    // not zero may be taken as positive. The budget covers every difference that 2^16 elements can have.
    constexpr std::int64_t budget = std::int64_t{1} << 24;
    const Footprint footprint(view);
    for (int first = 0; first < footprint.extents.ndim(); ++first) {
        SumSet moves;
        moves.add(footprint.strides[first], 1, footprint.extents[first] - 1);
        for (int dim = first + 1; dim < footprint.extents.ndim(); ++dim)
            moves.add(footprint.strides[dim], 1 - footprint.extents[dim], footprint.extents[dim] - 1);
        if (moves.meets(0, 0, budget) != Answer::no) return true;
    }
    return false;
}

bool overlap(const ConstView& a, const ConstView& b) {
    if (a.element_count() == 0 || b.element_count() == 0) return false;
    const Footprint from_a(a);
    const Footprint from_b(b);
    SumSet differences;
    for (int dim = 0; dim < from_a.extents.ndim(); ++dim)
        differences.add(from_a.strides[dim], 0, from_a.extents[dim] - 1);
    for (int dim = 0; dim < from_b.extents.ndim(); ++dim)
        differences.add(from_b.strides[dim], 1 - from_b.extents[dim], 0);
    const std::int64_t offset = from_b.base - from_a.base;
    constexpr std::int64_t budget = std::int64_t{1} << 18;
    switch (differences.meets(offset - from_a.element + 1, offset + from_b.element - 1, budget)) {
        case Answer::no:
            return false;
        case Answer::yes:
            return true;
        case Answer::unknown:
            break;
    }
    if (from_a.count() > kExactElements || from_b.count() > kExactElements) return true;
    return share_a_byte(from_a, from_b);
}

}  // namespace plumb
