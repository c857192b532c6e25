// SPDX-License-Identifier: Apache-2.0
#include "kernels/lexer.hpp"

#include "tests/host/support.hpp"

// Tests the lexer for kernel sources.

namespace weir::kernels {
namespace {

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> result;
  const TokenizedSource source = tokenize(text);
  for (const Token& token : source.tokens) result.emplace_back(source.spelling(token));
  return result;
}

using Words = std::vector<std::string>;

TEST_CASE("what is not code is not split") {
  CHECK(words("a /* __global__ */ b // c\nd") == Words{"a", "b", "d"});
  CHECK(words(R"(f("__global__ \" x", 'q', '\'', L"w"))") ==
        Words{"f", "(", R"("__global__ \" x")", ",", "'q'", ",", R"('\'')", ",", R"(L"w")", ")"});
  CHECK(words("R\"x(a \" )\" // )x\" b") == Words{"R\"x(a \" )\" // )x\"", "b"});
  CHECK(words("u8R\"(\n# 7 \"file\"\n)\" b") == Words{"u8R\"(\n# 7 \"file\"\n)\"", "b"});
  CHECK(words("#pragma omp __global__\na") == Words{"a"});
}

TEST_CASE("numbers with signs, separators and suffixes are one token") {
  CHECK(words("1'000'000 0x1p-3f 1e+9 .5f 2.0f-x 'a'") ==
        Words{"1'000'000", "0x1p-3f", "1e+9", ".5f", "2.0f", "-", "x", "'a'"});
}

TEST_CASE("punctuation of two characters is one token where it matters") {
  CHECK(words("a::b->c - d > e") == Words{"a", "::", "b", "->", "c", "-", "d", ">", "e"});
}

TEST_CASE("brackets know their other half, and broken ones do not") {
  const TokenizedSource source = tokenize("f(a[1], {2}) )");
  CHECK(source.spelling(source.tokens[1].match) == ")");
  CHECK(source.tokens[1].match == source.tokens.size() - 2);
  CHECK(source.tokens[3].match == 5);
  CHECK(source.tokens.back().match == source.tokens.size() - 1);
  const TokenizedSource open = tokenize("( [ )");
  for (std::uint32_t i = 0; i < 3; ++i) CHECK(open.tokens[i].match == i);
}

TEST_CASE("line markers tell where a token comes from") {
  const std::string_view text =
      "# 1 \"<weir prelude>\"\nprelude\n# 1 \"/usr/include/math.h\" 1 3 4\nsystem\n# 7 \"dir/k \\\"q\\\".cu\" 2\n  one\n\n "
      "two\n# 1 \"own.h\" 1\nthree\n";
  const TokenizedSource source = tokenize(text);
  REQUIRE(source.tokens.size() == 3);
  CHECK(source.spelling(0) == "one");
  CHECK(source.tokens[0].line == 7);
  CHECK(source.tokens[0].column == 2);
  CHECK(file_name(source.files[source.tokens[0].file]) == "dir/k \"q\".cu");
  CHECK(source.tokens[1].line == 9);
  CHECK(source.tokens[1].column == 1);
  CHECK(file_name(source.files[source.tokens[2].file]) == "own.h");
  CHECK(source.tokens[2].line == 1);
}

TEST_CASE("what a system header's macro became in the user's file is the user's") {
  // GCC's way to write: float x = INFINITY;
  const TokenizedSource source = tokenize(
      "# 1 \"/usr/include/math.h\" 1 3 4\nsystem\n# 1 \"k.cu\"\nfloat x =\n# 1 \"k.cu\" 3 4\n __builtin_inff ()\n# 1 "
      "\"k.cu\"\n ;\n");
  std::string text;
  for (std::size_t i = 0; i < source.tokens.size(); ++i) text += source.spelling(i);
  CHECK(text == "floatx=__builtin_inff();");
}

TEST_CASE("names in line markers are unescaped") {
  CHECK(file_name(R"("a\\b\303\244.cu")") == "a\\b\xc3\xa4.cu");
  CHECK(file_name("\"\"").empty());
}

TEST_CASE("text that ends in the middle is read to its end") {
  for (const char* text : {"\"abc", "R\"(abc", "/* abc", "# 1 \"x", "'", "f(", "R\"abc", "1e+"}) CHECK_NOTHROW(words(text));
}

}  // namespace
}  // namespace weir::kernels
