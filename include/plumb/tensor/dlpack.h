#pragma once

#include <dlpack/dlpack.h>

#include <plumb/tensor/tensor.h>

namespace plumb {

/// DLPack's C struct is the standard form in which array libraries hand memory to each other. This is the
/// only public header that includes <dlpack/dlpack.h>. Both functions are local and copy no elements.

/// A Tensor over the memory of `managed`, whose deleter (may be null) is called once, when the last Tensor
/// over it is gone. Null strides mean row-major; byte_offset is honoured; the elements need not be aligned.
///
/// Element types (lanes must be 1): signed integers of 8 to 64 bits, unsigned of 8, floats of 16 to 64,
/// bfloat of 16, complex of 64 and 128, and by the codes of later DLPack versions bool (6), float8_e4m3fn
/// (10) and float8_e5m2 (12). Devices: kDLCPU.
///
/// Throws ArgumentError, naming what was given and what is allowed, for anything else, a null `managed`, a
/// negative extent, more than 8 dimensions, or null data where there are elements. Whatever is thrown,
/// ownership then stays with the caller and the deleter has not been called.
[[nodiscard]] Tensor from_dlpack(DLManagedTensor* managed);

/// The tensor's memory for another library: shape, strides (always given) and a share in the storage, which
/// lives until the struct's deleter is called; the caller owns the struct and must see that this happens
/// once. bool is exported as unsigned 8 bit, as DLPack 0.6 has no code for it.
///
/// Throws ArgumentError for an undefined tensor, an 8-bit float (no code for them), or memory that is not the
/// host's.
[[nodiscard]] DLManagedTensor* to_dlpack(const Tensor& tensor);

}  // namespace plumb
