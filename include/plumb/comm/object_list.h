#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <plumb/comm/async.h>
#include <plumb/comm/root.h>
#include <plumb/context/comm_context.h>
#include <plumb/mpi/operation.h>

namespace plumb {

/// How objects of type T travel: specialise it for your own.
///
///   static … to_bytes(const T&)                          any contiguous range of bytes (std::string, a
///   vector) static T from_bytes(std::span<const std::byte>)      the reverse static constexpr
///   std::string_view kName = "…";       optional: types that may meet have the same name
///
/// Both may throw. Provided here: std::string, std::vector<std::byte>, std::vector<std::uint8_t>; for
/// nlohmann::json in <plumb/comm/object_json.h>.
template <class T>
struct ObjectBytes;

template <>
struct ObjectBytes<std::string> {
    static constexpr std::string_view kName = "string";
    static const std::string& to_bytes(const std::string& text) { return text; }
    static std::string from_bytes(std::span<const std::byte> bytes) {
        std::string text(bytes.size(), '\0');
        if (!bytes.empty()) {
            std::memcpy(text.data(), bytes.data(), bytes.size());
        }
        return text;
    }
};

template <>
struct ObjectBytes<std::vector<std::byte>> {
    static constexpr std::string_view kName = "bytes";
    static const std::vector<std::byte>& to_bytes(const std::vector<std::byte>& bytes) { return bytes; }
    static std::vector<std::byte> from_bytes(std::span<const std::byte> bytes) {
        return {bytes.begin(), bytes.end()};
    }
};

template <>
struct ObjectBytes<std::vector<std::uint8_t>> {
    static constexpr std::string_view kName = "bytes";
    static const std::vector<std::uint8_t>& to_bytes(const std::vector<std::uint8_t>& bytes) { return bytes; }
    static std::vector<std::uint8_t> from_bytes(std::span<const std::byte> bytes) {
        std::vector<std::uint8_t> result(bytes.size());
        if (!bytes.empty()) {
            std::memcpy(result.data(), bytes.data(), bytes.size());
        }
        return result;
    }
};

namespace comm {

/// The type-blind part: a list of byte strings from the source to all.
class ObjectBroadcast : public mpi::Operation {
  public:
    ObjectBroadcast(std::size_t count, std::string_view type, Root src)
        : count_(count), type_(type), src_(src) {}

    /// On the source, before submission: the next object's bytes, or why there are none.
    void add(std::span<const std::byte> object);
    void fail(std::exception_ptr failure) noexcept { failure_ = std::move(failure); }

    [[nodiscard]] std::string_view operation() const final { return "broadcast_object_list"; }

  protected:
    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    /// Object `index`, once finished.
    [[nodiscard]] std::span<const std::byte> object(std::size_t index) const;

  private:
    [[nodiscard]] bool shares_header() const final { return true; }
    [[nodiscard]] bool confirms() const final { return true; }
    void prepare() final;
    void describe(mpi::Signature& signature) const final;
    [[nodiscard]] mpi::Header header() const final;
    void receive_header(const mpi::Header& header) final;
    Posted post(int step, mpi::RequestSet& requests) final;

    std::size_t count_;
    std::string type_;
    Root src_;
    int root_ = 0;
    std::exception_ptr failure_;
    std::vector<std::int64_t> ends_;  ///< where each object ends in bytes_
    std::vector<std::byte> bytes_;
};

/// Whether `src` is this rank. False for a rank outside the group or a src that does not exist.
[[nodiscard]] bool names_this_rank(const Root& src, const Group& group);
void submit_objects(const Group& group, const std::shared_ptr<ObjectBroadcast>& operation);

template <class T>
class ObjectListBroadcast final : public ObjectBroadcast, public Outcome<std::vector<T>> {
  public:
    ObjectListBroadcast(std::size_t count, Root src) : ObjectBroadcast(count, type_name(), src) {}

    /// From the bytes, on every rank, src too: here, in the caller's wait, user code may throw or call Plumb.
    [[nodiscard]] std::vector<T> result() const override {
        std::vector<T> objects;
        objects.reserve(count());
        for (std::size_t i = 0; i < count(); ++i) {
            objects.push_back(ObjectBytes<T>::from_bytes(object(i)));
        }
        return objects;
    }

    static std::shared_ptr<ObjectListBroadcast> submit(const std::vector<T>& objects, Root src,
                                                       const Group& group) {
        auto operation = std::make_shared<ObjectListBroadcast>(objects.size(), src);
        if (names_this_rank(src, group)) {
            try {
                for (const T& object : objects) {
                    const auto& bytes = ObjectBytes<T>::to_bytes(object);
                    operation->add(std::as_bytes(std::span(bytes.data(), bytes.size())));
                }
            } catch (...) {
                operation->fail(std::current_exception());
            }
        }
        submit_objects(group, operation);
        return operation;
    }

  private:
    static constexpr std::string_view type_name() {
        if constexpr (requires { std::string_view(ObjectBytes<T>::kName); }) {
            return ObjectBytes<T>::kName;
        } else {
            return "object";
        }
    }
};

}  // namespace comm

/// The objects of `src` replace everybody's. Collective over the group. T is any type with ObjectBytes<T>.
///
/// The list has the same length on every rank; what it holds elsewhere than on src does not matter. On src it
/// is not changed. Elsewhere it is replaced as a whole, or, where this call throws, left as it was. On a rank
/// outside the group nothing happens.
///
/// Throws the same AgreementError on all ranks, before any object moves, at every CheckLevel: lists of
/// different lengths or types, a src that differs or is outside the group, a serialisation that throws on
/// src, no memory for the objects on some rank. Where from_bytes throws, that rank alone throws what it
/// threw, after the data has moved. No adjoint.
template <class T>
Completion broadcast_object_list(std::vector<T>& objects, Root src, GroupRef group) {
    if (!group->is_member()) {
        return Completion::not_in_group;
    }
    const auto operation = comm::ObjectListBroadcast<T>::submit(objects, src, *group);
    mpi::wait(*operation);
    if (!comm::names_this_rank(src, *group)) {
        objects = operation->result();
    }
    return Completion::done;
}

/// Serialises at once: `objects` may be dropped. The handle's result is the list made anew from the bytes of
/// src, on src too; elsewhere only the length of `objects` matters. An empty list outside the group.
template <class T>
Async<std::vector<T>> broadcast_object_list_async(const std::vector<T>& objects, Root src, GroupRef group) {
    if (!group->is_member()) {
        return {};
    }
    return Async<std::vector<T>>(comm::ObjectListBroadcast<T>::submit(objects, src, *group));
}

}  // namespace plumb
