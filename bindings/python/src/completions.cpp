// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/src/completions.hpp"

#include <exception>
#include <utility>

#include "weir/await.hpp"
#include "weir/error.hpp"

namespace weir::python {

void when_complete(const EventPtr& event, std::shared_ptr<Completion> completion) {
  when_done(event, [completion = std::move(completion)](std::exception_ptr failure) mutable {
    if (failure) {
      try {
        std::rethrow_exception(std::move(failure));
      } catch (const Error& error) {
        completion->fail(error);
      } catch (const std::exception& error) {
        completion->fail(Error(Errc::backend_failure, "when_done", "", error.what()));
      }
    }
    post_completion(std::move(completion));
  });
}

}  // namespace weir::python
