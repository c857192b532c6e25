// SPDX-License-Identifier: Apache-2.0
#include "weir/error.hpp"

#include <fmt/format.h>

#include "core/base/error_text.hpp"
#include "core/base/no_destructor.hpp"

// Errors: the names and messages of codes, and the text of an exception.
namespace weir {
namespace {

struct CodeText {
  std::string_view name, sentence;
};

CodeText text_of(Errc code) noexcept {
  switch (code) {
#define WEIR_ERROR_TEXT(number, name, NAME, type, sentence) \
  case Errc::name: return {#name, sentence};
    WEIR_ERRORS(WEIR_ERROR_TEXT)
#undef WEIR_ERROR_TEXT
  }
  return {"unknown", "a code that this version of Weir does not know"};
}

class Category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "weir"; }
  std::string message(int value) const override { return std::string(text_of(static_cast<Errc>(value)).sentence); }
};

std::string compose(std::string_view operation, std::string_view object, std::string_view cause, Errc code,
                    const NativeError& native) {
  std::string text(operation);
  if (!object.empty()) text.append(" on ").append(object);
  text.append(": ").append(cause.empty() ? text_of(code).sentence : cause);
  return text + detail::native_suffix(native);
}

}  // namespace

std::string detail::native_suffix(const NativeError& native) {
  if (native.code == 0 && native.name.empty()) return {};
  std::string text = native.name.empty() ? fmt::format(" [native error {}", native.code)
                                         : fmt::format(" [{} ({})", native.name, native.code);
  if (!native.message.empty()) text.append(": ").append(native.message);
  return text + "]";
}

const std::error_category& error_category() noexcept {
  static detail::NoDestructor<Category> category;
  return *category;
}

std::error_code make_error_code(Errc code) noexcept { return {static_cast<int>(code), error_category()}; }

std::string_view to_string(Errc code) noexcept { return text_of(code).name; }

Error::Error(Errc code, std::string_view operation, std::string_view object, std::string_view detail, NativeError native)
    : std::system_error(make_error_code(code)) {
  Texts texts{detail::escaped(operation, ""), detail::escaped(object, ""), detail::escaped(detail, "\n\t"), "",
              std::move(native)};  // line ends and tabs are kept, for compiler logs
  texts.what = detail::escaped(compose(texts.operation, texts.object, texts.detail, code, texts.native), "\n\t");
  texts_ = std::make_shared<const Texts>(std::move(texts));
}

Error::~Error() = default;

}  // namespace weir
