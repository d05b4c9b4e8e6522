#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <plumb/core/rank.h>
#include <plumb/tensor/dtype.h>
#include <plumb/tensor/shape.h>

namespace plumb::oracle {

/// What a manifest may hold at most; beyond it is a FileError, so that no file can exhaust memory.
inline constexpr std::uint64_t kMaxManifestBytes = 256U << 20U;
inline constexpr std::size_t kMaxJsonDepth = 32;          ///< nested lists and objects
inline constexpr std::size_t kMaxJsonValues = 8'000'000;  ///< also for a safetensors header
inline constexpr int kMaxWorld = 1 << 16;

inline constexpr int kManifestVersion = 1;

enum class Expected : std::uint8_t { values, error, unknown };
enum class CompareKind : std::uint8_t { exact, rounding };
/// The roles `in`, `out`, `gradout`, `gradin` of a tensor.
enum class Role : std::uint8_t { in, out, grad_out, grad_in };

/// Element k of a list is numbered from 0; a tensor that is no list element has this.
inline constexpr int kNoIndex = -1;

/// "rank0_gradout", "rank2_in_1".
[[nodiscard]] std::string tensor_key(GlobalRank rank, Role role, int k = kNoIndex);

/// One tensor that a manifest promises.
struct TensorEntry {
    GlobalRank rank{0};
    Role role = Role::in;
    int k = kNoIndex;
    Shape shape;
    DType dtype = DType::f32;
};

/// One dimension of a halo exchange over several.
struct HaloDim {
    std::int64_t dim = 0;
    std::int64_t left = 0;
    std::int64_t right = 0;
    std::string edge = "zero";
};

/// Arguments of a case; what the manifest does not give is empty. Words (`form`, `edge`, …) are among those
/// allowed. Ranks are not checked against the world: a case may be about a wrong one.
struct Params {
    std::optional<std::vector<GlobalRank>> src;  ///< one per group, as `dst`
    std::optional<std::vector<GlobalRank>> dst;
    std::optional<std::vector<GlobalRank>> scatter_list_ranks;  ///< ranks that pass a list
    std::optional<std::vector<GlobalRank>> gather_list_ranks;
    std::optional<bool> async_op;
    std::optional<std::string> layout;  ///< transposed

    std::optional<std::int64_t> list_len;  ///< these five: a faulty call
    std::optional<DType> list_dtype;
    std::optional<Shape> list_shape;
    std::optional<Shape> out_shape;
    std::optional<DType> out_dtype;

    std::optional<std::string> form;        ///< concat | stack
    std::optional<std::string> reduce;      ///< SUM | PRODUCT | MIN | MAX | AVG | BAND | BOR | BXOR
    std::optional<std::string> order;       ///< fast | ordered | exact
    std::optional<std::string> accumulate;  ///< f32 | storage
    std::optional<std::vector<std::vector<std::string>>> keys;  ///< per rank of the world
    std::optional<std::string> key_match;                       ///< strict | by_position

    std::optional<std::int64_t> gather_dim;
    std::optional<std::int64_t> scatter_dim;
    std::optional<std::vector<std::int64_t>> split;  ///< sizes per position of the group, as the next two
    std::optional<std::vector<std::int64_t>> scatter_split;
    std::optional<std::vector<std::int64_t>> gather_split;
    std::optional<std::vector<std::vector<std::int64_t>>> input_split;  ///< per rank of the world
    std::optional<std::vector<std::vector<std::int64_t>>> output_split;

    std::optional<bool> rank0_only;
    std::optional<std::int64_t> dim;
    std::optional<std::string> grad_mode;    ///< replica_mean | adjoint | megatron
    std::optional<std::string> output_grad;  ///< partial | replicated

    std::optional<std::int64_t> left_size;
    std::optional<std::int64_t> right_size;
    std::optional<std::string> edge;  ///< zero | periodic | replicate | reflect | none
    std::optional<bool> strict;
    std::optional<std::vector<HaloDim>> halos;
};

/// What an error case says must happen.
struct ExpectedError {
    std::string reason;
    std::vector<GlobalRank> ranks;
    std::string phase = "forward";  ///< forward | backward
};

struct Case {
    std::string id;
    std::string op;
    int world = 1;
    std::string mesh = "flat";  ///< a label; `groups` is what counts
    std::string mode = "GLOBAL";
    std::vector<std::vector<GlobalRank>> groups;
    Params params;
    std::string dtype_text;
    DType dtype = DType::f32;
    std::string impl;  ///< "p2p", "collective" or empty
    std::string kind;
    std::vector<Shape> shapes;  ///< per rank of the world; may be empty
    Expected expected = Expected::values;
    CompareKind compare = CompareKind::exact;
    ExpectedError error;                             ///< of error cases
    std::vector<std::vector<std::string>> out_keys;  ///< all_reduce_dict: per rank of the world
    std::map<std::string, TensorEntry> tensors;      ///< by tensor_key

    /// Not empty: this case cannot be run (unknown op, params key, word or dtype, missing argument or tensor)
    /// and counts as failed with this reason. Nothing else in the case may then be relied on but id, op,
    /// world.
    std::string problem;

    /// Index in `groups` of the group that holds `rank`, or none.
    [[nodiscard]] std::optional<std::size_t> group_of(GlobalRank rank) const;
};

struct Manifest {
    std::vector<Case> cases;
    std::map<std::string, std::string> files;  ///< file name → sha256 in lower-case hex; empty if not given
};

/// Local. Reads and checks a manifest.json. Throws FileError that names the file and the place in it: not
/// JSON, a limit above passed, a format_version other than 1, duplicate keys or ids, an id outside
/// [A-Za-z0-9._+-]+, wrong JSON types, missing fields, groups that are not lists of distinct ranks of the
/// world.
[[nodiscard]] Manifest read_manifest(const std::filesystem::path& path);
/// The same from text; `name` is what messages call it.
[[nodiscard]] Manifest parse_manifest(std::string_view text, const std::string& name);

/// "SEQUENCE_PARALLEL" → "sequence", "DATA_PARALLEL+SEQUENCE_PARALLEL" → "data+sequence", "GLOBAL" →
/// "global". A spelling that is already the command line's is returned as it is.
[[nodiscard]] std::string mode_on_command_line(std::string_view mode);
/// The mesh to make for a case: "data2xsequence2" → "data=2,sequence=2"; "flat" → one axis holding all ranks,
/// named after the mode ("context=3"; "data=3" where the mode is GLOBAL); others as they stand.
[[nodiscard]] std::string mesh_on_command_line(const Case& item);

}  // namespace plumb::oracle
