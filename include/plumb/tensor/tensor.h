#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <plumb/memory/storage.h>
#include <plumb/tensor/dtype.h>
#include <plumb/tensor/shape.h>
#include <plumb/tensor/view.h>

namespace plumb {

/// An n-dimensional array over shared storage: copying a Tensor copies the handle, not the elements (as users
/// of torch know it). A default-made Tensor is undefined: it has no storage, and is what an op returns on a
/// rank that is not in its group. All members are local; none communicates.
class Tensor {
  public:
    Tensor() = default;

    /// Uninitialised, contiguous. Throws std::bad_alloc, ArgumentError (negative extent, more than 8 dims).
    static Tensor empty(const Shape& shape, DType dtype, MemorySpace space = MemorySpace::host);
    /// All bytes zero.
    static Tensor zeros(const Shape& shape, DType dtype, MemorySpace space = MemorySpace::host);
    /// Copies `values`, row-major. Throws ArgumentError if their number is not the shape's element count.
    template <class T>
    static Tensor of(const Shape& shape, const std::vector<T>& values) {
        if constexpr (std::is_same_v<T, bool>)
            return of_bools(shape, values);
        else
            return of_bytes(shape, dtype_of<T>(), std::as_bytes(std::span(values)), values.size());
    }
    /// Foreign memory without a copy. `data` points to element (0, …, 0); `deleter` (may be empty) runs when
    /// the last Tensor over it is gone. With an empty deleter the caller keeps the memory alive. Throws
    /// ArgumentError for a null pointer where there are elements, or shape and strides of different length.
    static Tensor from_foreign(void* data, DType dtype, const Shape& shape, const Strides& strides,
                               std::function<void()> deleter = {}, MemorySpace space = MemorySpace::host);

    [[nodiscard]] bool defined() const noexcept { return storage_ != nullptr; }
    [[nodiscard]] DType dtype() const noexcept { return view_.dtype; }
    [[nodiscard]] const Shape& shape() const noexcept { return view_.shape; }
    [[nodiscard]] const Strides& strides() const noexcept { return view_.strides; }
    [[nodiscard]] int ndim() const noexcept { return view_.shape.ndim(); }
    [[nodiscard]] std::int64_t extent(int dim) const { return view_.shape[dim]; }
    [[nodiscard]] std::int64_t element_count() const { return view_.element_count(); }
    [[nodiscard]] MemorySpace space() const noexcept { return view_.space; }
    [[nodiscard]] bool is_contiguous() const { return plumb::is_contiguous(view_); }

    /// Element (0, …, 0).
    [[nodiscard]] std::byte* bytes() noexcept { return view_.data; }
    [[nodiscard]] const std::byte* bytes() const noexcept { return view_.data; }
    /// Typed pointer to element (0, …, 0). Throws ArgumentError if T is not the tensor's dtype.
    template <class T>
    [[nodiscard]] T* data() {
        require_dtype(dtype_of<T>());
        return reinterpret_cast<T*>(view_.data);
    }
    template <class T>
    [[nodiscard]] const T* data() const {
        require_dtype(dtype_of<T>());
        return reinterpret_cast<const T*>(view_.data);
    }
    /// All elements in row-major order, copied out.
    template <class T>
    [[nodiscard]] std::vector<T> to_vector() const;

    [[nodiscard]] View view() noexcept { return view_; }
    [[nodiscard]] ConstView view() const noexcept { return view_; }

    /// The same storage seen through other strides; nothing is copied, and the result keeps the storage
    /// alive. Dims may be negative. All throw ArgumentError for an undefined tensor, a dim or an index out of
    /// range.
    [[nodiscard]] Tensor transpose(int dim_a, int dim_b) const;
    [[nodiscard]] Tensor narrow(int dim, std::int64_t start, std::int64_t length) const;
    [[nodiscard]] Tensor select(int dim, std::int64_t index) const;
    /// Every `step`-th element of `dim`; step >= 1.
    [[nodiscard]] Tensor stride_by(int dim, std::int64_t step) const;
    /// Extents of 1 repeated to `shape` with stride 0.
    [[nodiscard]] Tensor expand(const Shape& shape) const;
    /// Contiguous tensors only. Throws ArgumentError if not contiguous or the counts differ.
    [[nodiscard]] Tensor reshape(const Shape& shape) const;

    /// Fresh, contiguous copy.
    [[nodiscard]] Tensor clone() const;
    /// This tensor if contiguous, else a clone.
    [[nodiscard]] Tensor contiguous() const;
    /// Whether the two share storage (not necessarily elements).
    [[nodiscard]] bool shares_storage_with(const Tensor& other) const noexcept {
        return storage_ != nullptr && storage_ == other.storage_;
    }

  private:
    Tensor(std::shared_ptr<Storage> storage, const View& view) : storage_(std::move(storage)), view_(view) {}
    static Tensor of_bytes(const Shape& shape, DType dtype, std::span<const std::byte> values,
                           std::size_t count);
    static Tensor of_bools(const Shape& shape, const std::vector<bool>& values);
    [[nodiscard]] std::vector<bool> to_bools() const;
    void require_defined(const char* what) const;
    void require_dtype(DType dtype) const;

    std::shared_ptr<Storage> storage_;
    View view_;
};

/// Copies the elements of `tensor` row-major to `out`, which must be `tensor.view().bytes()` long.
void copy_out(const Tensor& tensor, std::span<std::byte> out);

template <class T>
std::vector<T> Tensor::to_vector() const {
    require_dtype(dtype_of<T>());
    if constexpr (std::is_same_v<T, bool>)
        return to_bools();
    else {
        std::vector<T> values(static_cast<std::size_t>(element_count()));
        copy_out(*this, std::as_writable_bytes(std::span(values)));
        return values;
    }
}

}  // namespace plumb
