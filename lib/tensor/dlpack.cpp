#include <plumb/tensor/dlpack.h>

#include <array>
#include <memory>
#include <optional>
#include <string>

#include <plumb/core/error.h>

namespace plumb {

namespace {

struct TypeCode {
    DType dtype;
    unsigned code;
    unsigned bits;
};

// Codes of DLPack versions later than the oldest header this builds with.
constexpr unsigned kBoolCode = 6;
constexpr unsigned kFloat8E4m3fnCode = 10;
constexpr unsigned kFloat8E5m2Code = 12;

// What is exported; bool has no code of its own in every version.
constexpr TypeCode kTypes[] = {
    {DType::u8, kDLUInt, 8},      {DType::i8, kDLInt, 8},        {DType::i16, kDLInt, 16},
    {DType::i32, kDLInt, 32},     {DType::i64, kDLInt, 64},      {DType::f16, kDLFloat, 16},
    {DType::bf16, kDLBfloat, 16}, {DType::f32, kDLFloat, 32},    {DType::f64, kDLFloat, 64},
    {DType::c64, kDLComplex, 64}, {DType::c128, kDLComplex, 128}};
constexpr TypeCode kImportOnly[] = {{DType::boolean, kBoolCode, 8},
                                    {DType::f8_e4m3fn, kFloat8E4m3fnCode, 8},
                                    {DType::f8_e5m2, kFloat8E5m2Code, 8}};

DType import_dtype(const DLDataType& type) {
    if (type.lanes != 1)
        throw ArgumentError("from_dlpack: " + std::to_string(type.lanes) + " lanes given; allowed: 1");
    for (const TypeCode& known : kTypes)
        if (known.code == type.code && known.bits == type.bits) return known.dtype;
    for (const TypeCode& known : kImportOnly)
        if (known.code == type.code && known.bits == type.bits) return known.dtype;
    throw ArgumentError(
        "from_dlpack: element type with code " + std::to_string(type.code) + " and " +
        std::to_string(type.bits) +
        " bits given; allowed: int (0) of 8, 16, 32, 64 bits, uint (1) of 8, float (2) of 16, 32, 64, bfloat "
        "(4) "
        "of 16, complex (5) of 64, 128, bool (6) of 8, float8_e4m3fn (10) and float8_e5m2 (12) of 8");
}

MemorySpace import_device(const DLDevice& device) {
    switch (device.device_type) {
        case kDLCPU:
            return MemorySpace::host;
        default:
            throw ArgumentError("from_dlpack: device type " +
                                std::to_string(static_cast<int>(device.device_type)) + ", id " +
                                std::to_string(device.device_id) + " given; allowed: 1 (kDLCPU)");
    }
}

DLDevice export_device(MemorySpace space) {
    switch (space) {
        case MemorySpace::host:
            return {kDLCPU, 0};
        case MemorySpace::sim:
        case MemorySpace::cuda:
            break;
    }
    throw ArgumentError("to_dlpack: memory space '" + std::string(name(space)) + "' given; allowed: 'host'");
}

DLDataType export_dtype(DType dtype) {
    const DType stored = dtype == DType::boolean ? DType::u8 : dtype;
    for (const TypeCode& known : kTypes)
        if (known.dtype == stored)
            return {static_cast<std::uint8_t>(known.code), static_cast<std::uint8_t>(known.bits), 1};
    throw ArgumentError("to_dlpack: dtype " + std::string(name(dtype)) +
                        " given, for which DLPack has no code; allowed: every dtype but the 8-bit floats");
}

Extents import_extents(const std::int64_t* values, int ndim) {
    return Extents(std::span<const std::int64_t>(values, static_cast<std::size_t>(ndim)));
}

Shape import_shape(const DLTensor& tensor) {
    if (tensor.ndim < 0 || tensor.ndim > kMaxDims)
        throw ArgumentError("from_dlpack: " + std::to_string(tensor.ndim) +
                            " dimensions given; allowed: 0 to " + std::to_string(kMaxDims));
    if (tensor.ndim == 0) return {};
    if (tensor.shape == nullptr)
        throw ArgumentError("from_dlpack: shape is null for " + std::to_string(tensor.ndim) +
                            " dimensions; allowed: null only for a scalar");
    const Shape shape = import_extents(tensor.shape, tensor.ndim);
    static_cast<void>(element_count(shape));
    return shape;
}

/// Everything an exported struct points to.
struct Exported {
    explicit Exported(const Tensor& shared) : tensor(shared) {
        for (int dim = 0; dim < tensor.ndim(); ++dim) {
            shape[static_cast<std::size_t>(dim)] = tensor.shape()[dim];
            strides[static_cast<std::size_t>(dim)] = tensor.strides()[dim];
        }
    }

    Tensor tensor;
    std::array<std::int64_t, kMaxDims> shape{};
    std::array<std::int64_t, kMaxDims> strides{};
    DLManagedTensor managed{};
};

void release_exported(DLManagedTensor* managed) {
    delete static_cast<Exported*>(managed->manager_ctx);
}

}  // namespace

Tensor from_dlpack(DLManagedTensor* managed) {
    if (managed == nullptr) throw ArgumentError("from_dlpack: the managed tensor is null");
    const DLTensor& given = managed->dl_tensor;
    const MemorySpace space = import_device(given.device);
    const DType dtype = import_dtype(given.dtype);
    const Shape shape = import_shape(given);
    const Strides strides =
        given.strides == nullptr ? contiguous_strides(shape) : import_extents(given.strides, given.ndim);
    void* const data =
        given.data == nullptr ? nullptr : static_cast<std::byte*>(given.data) + given.byte_offset;
    // from_foreign takes the deleter only when nothing can throw any more.
    return Tensor::from_foreign(
        data, dtype, shape, strides,
        [managed] {
            if (managed->deleter != nullptr) managed->deleter(managed);
        },
        space);
}

DLManagedTensor* to_dlpack(const Tensor& tensor) {
    if (!tensor.defined()) throw ArgumentError("to_dlpack: the tensor is undefined");
    const DLDevice device = export_device(tensor.space());
    const DLDataType dtype = export_dtype(tensor.dtype());
    auto exported = std::make_unique<Exported>(tensor);
    DLTensor& out = exported->managed.dl_tensor;
    out.data = exported->tensor.bytes();
    out.device = device;
    out.ndim = tensor.ndim();
    out.dtype = dtype;
    out.shape = exported->shape.data();
    out.strides = exported->strides.data();
    out.byte_offset = 0;
    exported->managed.manager_ctx = exported.get();
    exported->managed.deleter = release_exported;
    return &exported.release()->managed;
}

}  // namespace plumb
