#include "sim/base/digest.h"

#include <gtest/gtest.h>

#include <string>

namespace batchvar {
namespace {

// FIPS 180-4 examples and the empty message.
TEST(Sha256, PublishedVectors) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Sha256Hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesHashLikeTheWhole) {
  const std::string text(300, 'x');
  for (size_t cut = 0; cut <= text.size(); cut += 7) {
    Sha256 hash;
    hash.Update(text.substr(0, cut)).Update(text.substr(cut));
    EXPECT_EQ(hash.FinishDigest(), DigestOf(text)) << cut;
  }
}

TEST(Sha256, IntegersAreLittleEndianBytes) {
  const std::string bytes("\x08\x07\x06\x05\x04\x03\x02\x01\xff", 9);
  EXPECT_EQ(Sha256().UpdateI64(0x0102030405060708).UpdateU8(0xff).FinishDigest(), DigestOf(bytes));
  EXPECT_EQ(Sha256().UpdateI64(-1).FinishDigest(), DigestOf(std::string(8, '\xff')));
}

TEST(Digest, HexIsThePrefixOfTheSha256) {
  const Digest digest = DigestOf("abc");
  EXPECT_EQ(digest.Hex(), "ba7816bf8f01cfea414140de5dae2223");
  EXPECT_EQ(digest.ShortHex(), "ba7816bf");
  EXPECT_LT((Digest{1, 9}), (Digest{2, 0}));
  EXPECT_LT((Digest{1, 8}), (Digest{1, 9}));
}

}  // namespace
}  // namespace batchvar
