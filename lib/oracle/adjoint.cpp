#include <plumb/oracle/adjoint.h>

#include <array>
#include <complex>
#include <memory>
#include <thread>

#include <fmt/format.h>
#include <mpi.h>

#include <plumb/core/error.h>
#include <plumb/mpi/channel.h>
#include <plumb/mpi/check.h>
#include <plumb/mpi/handles.h>
#include <plumb/tensor/convert.h>

namespace plumb::oracle {

namespace {

template <class T>
void append(const Tensor& tensor, std::vector<double>& numbers) {
    for (const T value : tensor.to_vector<T>())
        numbers.push_back(static_cast<double>(value));
}

template <class T>
void append_complex(const Tensor& tensor, std::vector<double>& numbers) {
    for (const std::complex<T> value : tensor.to_vector<std::complex<T>>()) {
        numbers.push_back(static_cast<double>(value.real()));
        numbers.push_back(static_cast<double>(value.imag()));
    }
}

std::vector<double> numbers_of(const Tensor& tensor) {
    std::vector<double> numbers;
    switch (tensor.dtype()) {
        case DType::boolean:
            throw ArgumentError("dtype is bool, which has no dot product");
        case DType::u8:
            append<std::uint8_t>(tensor, numbers);
            break;
        case DType::i8:
            append<std::int8_t>(tensor, numbers);
            break;
        case DType::i16:
            append<std::int16_t>(tensor, numbers);
            break;
        case DType::i32:
            append<std::int32_t>(tensor, numbers);
            break;
        case DType::i64:
            append<std::int64_t>(tensor, numbers);
            break;
        case DType::f32:
            append<float>(tensor, numbers);
            break;
        case DType::f64:
            append<double>(tensor, numbers);
            break;
        case DType::c64:
            append_complex<float>(tensor, numbers);
            break;
        case DType::c128:
            append_complex<double>(tensor, numbers);
            break;
        case DType::f16:
        case DType::bf16:
        case DType::f8_e4m3fn:
        case DType::f8_e5m2: {
            const Tensor dense = tensor.contiguous();
            for (std::int64_t i = 0; i < dense.element_count(); ++i)
                numbers.push_back(static_cast<double>(load_f32(
                    dense.dtype(), dense.bytes() + static_cast<std::size_t>(i) * size_of(dense.dtype()))));
        }
    }
    return numbers;
}

/// A communicator for these sums, which the group keeps: the library's own carry its traffic. Collective.
MPI_Comm communicator_of(const Group& group) {
    static constexpr char kTag = 0;
    std::shared_ptr<void>& kept = group.channel()->slot(&kTag);
    if (kept == nullptr)
        kept = std::make_shared<mpi::Communicator>(mpi::Communicator::duplicate(group.communicator()));
    return static_cast<const mpi::Communicator*>(kept.get())->get();
}

std::array<double, 2> sum_over(const Group& group, const std::array<double, 2>& mine) {
    const mpi::Caller caller = group.channel()->caller();
    std::array<double, 2> sums{};
    MPI_Request request = MPI_REQUEST_NULL;
    mpi::check(MPI_Iallreduce(mine.data(), sums.data(), static_cast<int>(mine.size()), MPI_DOUBLE, MPI_SUM,
                              communicator_of(group), &request),
               "MPI_Iallreduce", caller);
    for (int done = 0; done == 0;) {
        mpi::check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test", caller);
        mpi::progress();
        if (done == 0) std::this_thread::yield();
    }
    return sums;
}

}  // namespace

double dot(const Tensor& a, const Tensor& b) {
    if (!(a.shape() == b.shape()) || a.dtype() != b.dtype())
        throw ArgumentError(fmt::format("dot product of {} {} and {} {}", to_string(a.shape()),
                                        name(a.dtype()), to_string(b.shape()), name(b.dtype())));
    const std::vector<double> left = numbers_of(a);
    const std::vector<double> right = numbers_of(b);
    double sum = 0;
    for (std::size_t i = 0; i < left.size(); ++i)
        sum += left[i] * right[i];
    return sum;
}

AdjointTest test_adjoint(const Group& group, const Tensor& x, const Tensor& y, const LinearMap& forward,
                         const LinearMap& backward) {
    if (!group.is_member()) return {};
    const Tensor out = forward(x);
    const Tensor grad = backward(y);
    const std::array<double, 2> sums = sum_over(group, {dot(out, y), dot(x, grad)});
    return {sums[0], sums[1]};
}

}  // namespace plumb::oracle
