#include <doctest/doctest.h>

#include "oracle/sha256.h"
#include "oracle/temporary_folder.h"

using plumb::oracle::Sha256;

namespace {
std::string digest(const std::string& text) {
    Sha256 sha;
    sha.update(text);
    return sha.finish();
}
}  // namespace

// Published vectors of FIPS 180-4.
TEST_CASE("sha256 vectors") {
    CHECK(digest("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK(digest("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    CHECK(digest(std::string(1'000'000, 'a')) ==
          "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("sha256 of a file of several pieces") {
    const TemporaryFolder folder;
    const std::string text((1U << 20U) + 77, 'x');
    CHECK(plumb::oracle::sha256_of_file(folder.write("f", text)) == digest(text));
}
