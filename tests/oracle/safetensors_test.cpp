#include <cmath>
#include <cstring>

#include <doctest/doctest.h>

#include <plumb/core/error.h>
#include <plumb/oracle/safetensors.h>

#include "oracle/temporary_folder.h"

using namespace plumb;
using oracle::SafetensorsFile;

namespace {

/// Opens `bytes` as a file and returns the message it is refused with ("" if it is not).
std::string refusal(const std::string& bytes) {
    const TemporaryFolder folder;
    const auto path = folder.write("hostile.safetensors", bytes);
    try {
        const SafetensorsFile file = SafetensorsFile::open(path);
        for (const auto& entry : file.entries())
            (void)file.read(entry);
    } catch (const FileError& error) {
        std::string message = error.what();
        CHECK(message.find("hostile.safetensors") != std::string::npos);
        return message;
    }
    return "";
}

std::string refusal(const std::string& header, const std::string& data) {
    return refusal(safetensors_bytes(header, data));
}

void check_refused(const std::string& message, const std::string& because) {
    CAPTURE(message);
    CHECK(message.find(because) != std::string::npos);
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
    return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" +
           offsets + "}";
}

const std::string kOne = "{" + entry("a", "F32", "[1]", "[0,4]") + "}";

}  // namespace

TEST_CASE("a well-formed file is read") {
    const TemporaryFolder folder;
    const std::string header = R"({"__metadata__":{"made":"by hand"},)" +
                               entry("b", "I16", "[2,1]", "[4,8]") + "," + entry("a", "F32", "[]", "[0,4]") +
                               "," + entry("none", "F64", "[0,3]", "[4,4]") + "}    ";
    const std::string data("\x00\x00\xc0\x3f\xff\xff\x02\x00", 8);
    const SafetensorsFile file =
        SafetensorsFile::open(folder.write("x.safetensors", safetensors_bytes(header, data)));
    CHECK(file.entries().size() == 3);
    CHECK(file.metadata().at("made") == "by hand");
    CHECK(file.read("a").to_vector<float>() == std::vector<float>{1.5F});
    CHECK(file.read("a").shape() == Shape{});
    CHECK(file.read("b").to_vector<std::int16_t>() == std::vector<std::int16_t>{-1, 2});
    CHECK(file.read("b").shape() == Shape{2, 1});
    CHECK(file.read("none").shape() == Shape{0, 3});
    CHECK(file.find("c") == nullptr);
    CHECK_THROWS_AS((void)file.read("c"), FileError);
}

TEST_CASE("header length") {
    check_refused(refusal(""), "too short");
    check_refused(refusal("1234567"), "too short");
    check_refused(refusal(std::string("\xff\xff\xff\xff\xff\xff\xff\xff", 8)), "exceeds the limit");
    check_refused(refusal(std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10)), "exceeds the limit");
    check_refused(refusal(std::string("\x03\0\0\0\0\0\0\0{}", 10)), "truncated");
    check_refused(refusal(std::string(8, '\0')), "does not begin with '{'");
    CHECK(refusal("{}", "").empty());
}

TEST_CASE("header text") {
    check_refused(refusal("[]", ""), "does not begin");
    check_refused(refusal(" {}", ""), "does not begin");
    check_refused(refusal("{", ""), "not valid JSON");
    check_refused(refusal("{}x", ""), "not valid JSON");
    check_refused(refusal(std::string("{}\0", 3), ""), "a NUL");
    check_refused(refusal(std::string("{}\0{", 4), ""), "a NUL");
    check_refused(refusal("{\"\xff\":1}", ""), "not valid JSON");
    check_refused(refusal("{" + entry("a\xc3", "F32", "[1]", "[0,4]") + "}", "1234"), "not valid JSON");
    check_refused(refusal("{\"a\":1e999}", ""), "not valid JSON");
    check_refused(refusal("{\"a\":" + std::string(200'000, '['), ""), "nested deeper");
    std::string objects = "{";
    for (int i = 0; i < 100'000; ++i)
        objects += "\"a\":{";
    check_refused(refusal(objects, ""), "nested deeper");
    check_refused(
        refusal("{" + entry("a", "F32", "[1]", "[0,4]") + "," + entry("a", "F32", "[1]", "[4,8]") + "}",
                "12345678"),
        "occurs twice");
    check_refused(refusal(R"({"a":{"dtype":"F32","dtype":"F64","shape":[1],"data_offsets":[0,4]}})", "1234"),
                  "occurs twice");
    check_refused(refusal(R"({"__metadata__":{"n":1}})", ""), "a string expected");
    check_refused(refusal(R"({"__metadata__":[]})", ""), "an object expected");
    check_refused(refusal("{" + entry("", "F32", "[1]", "[0,4]") + "}", "1234"), "without a name");
}

TEST_CASE("more values than the limit") {
    std::string many = "{\"a\":[0";
    for (std::size_t i = 0; i < 8'000'000; ++i)
        many += ",0";
    check_refused(refusal(many + "]}", ""), "JSON values");
}

TEST_CASE("tensor entries") {
    check_refused(refusal("{\"a\":1}", ""), "an object expected");
    check_refused(refusal(R"({"a":{"shape":[1],"data_offsets":[0,4]}})", "1234"), "\"dtype\" is missing");
    check_refused(refusal(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", "1234"), "\"shape\" is missing");
    check_refused(refusal(R"({"a":{"dtype":"F32","shape":[1]}})", "1234"), "\"data_offsets\" is missing");
    check_refused(refusal(R"({"a":{"dtype":4,"shape":[1],"data_offsets":[0,4]}})", "1234"),
                  "a string expected");
    check_refused(refusal("{" + entry("a", "F31", "[1]", "[0,4]") + "}", "1234"), "unknown element type");
    for (const char* dtype : {"U16", "U32", "U64", "F8_E8M0"})
        check_refused(refusal("{" + entry("a", dtype, "[1]", "[0,4]") + "}", "1234"), "not supported");
    check_refused(refusal("{" + entry("a", "F32", "[-1]", "[0,4]") + "}", "1234"), "not in 0");
    check_refused(refusal("{" + entry("a", "F32", "[1.0]", "[0,4]") + "}", "1234"), "an integer expected");
    check_refused(refusal("{" + entry("a", "F32", "[18446744073709551615]", "[0,4]") + "}", "1234"),
                  "not in 0");
    check_refused(refusal("{" + entry("a", "F32", "[99999999999999999999]", "[0,4]") + "}", "1234"),
                  "an integer");
    check_refused(refusal("{" + entry("a", "F32", "{}", "[0,4]") + "}", "1234"), "a list expected");
    check_refused(refusal("{" + entry("a", "U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]") + "}", "1"), "more than 8");
    check_refused(refusal("{" + entry("a", "F32", "[4294967296,4294967296]", "[0,0]") + "}", ""), "2^63-1");
    // 2^62 times 4 wraps to 0 in 64 bits.
    check_refused(refusal("{" + entry("a", "F32", "[4611686018427387904]", "[0,0]") + "}", ""), "2^63-1");
    check_refused(refusal("{" + entry("a", "F32", "[1]", "[0,4,8]") + "}", "1234"), "two offsets");
    check_refused(refusal("{" + entry("a", "F32", "[1]", "[-4,0]") + "}", "1234"), "not in 0");
    check_refused(refusal("{" + entry("a", "F32", "[1]", "[4,0]") + "}", "1234"), "ends before it begins");
    check_refused(refusal("{" + entry("a", "F32", "[2]", "[0,4]") + "}", "1234"), "needs 8");
    check_refused(refusal("{" + entry("a", "F64", "[1]", "[0,4]") + "}", "1234"), "needs 8");
}

TEST_CASE("offsets tile the data") {
    CHECK(refusal(kOne, "1234").empty());
    check_refused(refusal(kOne, "123"), "beyond the 3 bytes");
    check_refused(refusal(kOne, ""), "beyond the 0 bytes");
    check_refused(refusal(kOne, "12345"), "trailing bytes");
    check_refused(refusal("{}", "1"), "trailing bytes");
    check_refused(refusal("{" + entry("a", "F32", "[1]", "[4,8]") + "}", "12345678"), "hole");
    const auto two = [](const std::string& offsets) {
        return "{" + entry("a", "F32", "[1]", "[0,4]") + "," + entry("b", "F32", "[1]", offsets) + "}";
    };
    CHECK(refusal(two("[4,8]"), "12345678").empty());
    check_refused(refusal(two("[3,7]"), "1234567"), "overlap");
    check_refused(refusal(two("[0,4]"), "12345678"), "overlap");
    check_refused(refusal(two("[5,9]"), "123456789"), "hole");
    check_refused(refusal(two("[9223372036854775800,9223372036854775804]"), "12345678"), "beyond");
    check_refused(refusal("{" + entry("a", "F32", "[0]", "[7,7]") + "}", ""), "beyond");
}

TEST_CASE("a BOOL that is neither 0 nor 1") {
    const std::string header = "{" + entry("a", "BOOL", "[3]", "[0,3]") + "}";
    CHECK(refusal(header, std::string("\x01\x00\x01", 3)).empty());
    check_refused(refusal(header, std::string("\x01\x02\x01", 3)), "element 1 of a BOOL tensor is 2");
}

TEST_CASE("what is not a regular file") {
    const TemporaryFolder folder;
    CHECK_THROWS_AS((void)SafetensorsFile::open(folder.path()), FileError);
    CHECK_THROWS_AS((void)SafetensorsFile::open(folder.path() / "absent"), FileError);
    CHECK_THROWS_AS((void)SafetensorsFile::open("/dev/zero"), FileError);
}

TEST_CASE("a file cut short after it was opened") {
    const TemporaryFolder folder;
    const auto path = folder.write("x.safetensors", safetensors_bytes(kOne, "1234"));
    const SafetensorsFile file = SafetensorsFile::open(path);
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
    CHECK_THROWS_AS((void)file.read("a"), FileError);
}

TEST_CASE("every type makes the round trip") {
    const TemporaryFolder folder;
    std::vector<oracle::NamedTensor> tensors;
    for (const DType dtype : kAllDTypes) {
        Tensor tensor = Tensor::empty({3, 2}, dtype);
        const std::size_t bytes = tensor.view().bytes();
        for (std::size_t i = 0; i < bytes; ++i)
            tensor.bytes()[i] = static_cast<std::byte>(dtype == DType::boolean ? i % 2 : 7 * i + 1);
        tensors.push_back({std::string(short_name(dtype)), tensor});
    }
    tensors.push_back({"scalar \"quoted\" \xc3\xa9", Tensor::of<float>({}, {-0.0F})});
    tensors.push_back({"empty", Tensor::empty({0, 4}, DType::c64)});
    tensors.push_back({"transposed", Tensor::of<std::int32_t>({2, 3}, {1, 2, 3, 4, 5, 6}).transpose(0, 1)});
    const auto path = folder.path() / "all.safetensors";
    oracle::write_safetensors(path, tensors, {{"k", "v"}});

    const SafetensorsFile file = SafetensorsFile::open(path);
    CHECK(file.entries().size() == tensors.size());
    CHECK(file.metadata() == std::map<std::string, std::string>{{"k", "v"}});
    for (std::size_t i = 0; i < std::size(kAllDTypes); ++i) {
        const Tensor back = file.read(tensors[i].name);
        CAPTURE(tensors[i].name);
        CHECK(back.dtype() == kAllDTypes[i]);
        CHECK(back.shape() == Shape{3, 2});
        CHECK(std::memcmp(back.bytes(), tensors[i].tensor.bytes(), back.view().bytes()) == 0);
    }
    CHECK(std::signbit(file.read("scalar \"quoted\" \xc3\xa9").data<float>()[0]));
    CHECK(file.read("empty").shape() == Shape{0, 4});
    CHECK(file.read("transposed").to_vector<std::int32_t>() == std::vector<std::int32_t>{1, 4, 2, 5, 3, 6});
}

TEST_CASE("written bytes are known, aligned and independent of the order given") {
    const TemporaryFolder folder;
    const oracle::NamedTensor a{"a", Tensor::of<std::uint8_t>({2}, {1, 2})};
    const oracle::NamedTensor b{"b", Tensor::of<float>({1}, {1.0F})};
    oracle::write_safetensors(folder.path() / "ab", {a, b});
    oracle::write_safetensors(folder.path() / "ba", {b, a});
    const std::string header = R"({"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                               R"("a":{"dtype":"U8","shape":[2],"data_offsets":[4,6]}})";
    const std::string padding((8 - header.size() % 8) % 8, ' ');
    const std::string wanted = safetensors_bytes(header + padding, std::string("\0\0\x80\x3f\x01\x02", 6));
    CHECK(TemporaryFolder::read(folder.path() / "ab") == wanted);
    CHECK(TemporaryFolder::read(folder.path() / "ba") == wanted);
}

TEST_CASE("the writer refuses what cannot be read back, and leaves nothing half-written") {
    const TemporaryFolder folder;
    const Tensor tensor = Tensor::of<float>({1}, {1.0F});
    const auto path = folder.path() / "x.safetensors";
    CHECK_THROWS_AS(oracle::write_safetensors(path, {{"", tensor}}), ArgumentError);
    CHECK_THROWS_AS(oracle::write_safetensors(path, {{"__metadata__", tensor}}), ArgumentError);
    CHECK_THROWS_AS(oracle::write_safetensors(path, {{"a", tensor}, {"a", tensor}}), ArgumentError);
    CHECK_THROWS_AS(oracle::write_safetensors(path, {{"a\xff", tensor}}), ArgumentError);
    CHECK_THROWS_AS(oracle::write_safetensors(path, {{"a", Tensor()}}), ArgumentError);
    CHECK(std::filesystem::is_empty(folder.path()));
    CHECK_THROWS_AS(oracle::write_safetensors(folder.path() / "no" / "folder", {{"a", tensor}}), FileError);
    std::filesystem::create_directory(path);  // a folder in the way: the rename fails
    CHECK_THROWS_AS(oracle::write_safetensors(path, {{"a", tensor}}), FileError);
    std::filesystem::remove(path);
    CHECK(std::filesystem::is_empty(folder.path()));
}
