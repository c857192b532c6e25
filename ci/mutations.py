#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The mutations that ci/mutations.sh applies to the HIP backend, one at a time.

mutations.py --names        prints the names
mutations.py FOLDER         makes FOLDER a copy of the tree in which the variable WEIR_TEST_MUTATION selects the mutation

Each mutation replaces a piece of a file of backends/hip, which must occur once. In the new piece, MUTATED means
"this mutation is selected". A row of the table of quirks, or a workaround, is missing if its name is selected.
"""
import pathlib
import subprocess
import sys

HOOK_PATH = "backends/hip/mutated.hpp"
HOOK = """#pragma once
#include <cstdlib>
#include <string_view>
namespace weir::hip {
inline bool mutated(std::string_view name) noexcept {
  static const char* const chosen = std::getenv("WEIR_TEST_MUTATION");
  return chosen != nullptr && name == chosen;
}
}  // namespace weir::hip
"""

MUTATIONS = [
    ("blocking_waits_spin", "api.cpp", "blocking_sync ? PollPolicy::sleeping",
     "blocking_sync && !MUTATED ? PollPolicy::sleeping"),
    ("called_at_the_end", "symbols.hpp", "runtime_is_ending.load(std::memory_order_relaxed)",
     "runtime_is_ending.load(std::memory_order_relaxed) && !MUTATED"),
    ("capture_modes_kept", "driver.cpp", "#undef WEIR_HIP_FIND\n\n  const hipError_t told",
     "#undef WEIR_HIP_FIND\n  if (MUTATED) table.ThreadExchangeStreamCaptureMode.address = nullptr;\n"
     "  const hipError_t told"),
    ("copies_of_low_priority", "api.hpp", "usual_priority() noexcept { return 0; }",
     "usual_priority() noexcept { return MUTATED ? 1 : 0; }"),
    ("device_not_set", "api.hpp", "if (!needed) return;", "if (!needed || MUTATED) return;"),
    ("event_waits_end_on_the_event", "api.cpp", "EventHandle unrecorded = nullptr;",
     "EventHandle unrecorded = nullptr;\n    if (MUTATED) return EventSynchronize(event);"),
    ("fill_2d_of_one_byte", "api.cpp", "if ((value & low_bits) == (byte * 0x01010101U & low_bits))",
     "if ((value & low_bits) == (byte * 0x01010101U & low_bits) || MUTATED)"),
    ("fill_2d_without_pitch", "api.cpp", "  for (std::size_t row = 0; row < height; ++row) {",
     "  if (MUTATED) pitch = width * element_size;\n  for (std::size_t row = 0; row < height; ++row) {"),
    ("hiprtc_by_number_alone", "hiprtc.cpp", "names.push_back(file);\n  }\n",
     "names.push_back(file);\n  }\n  if (MUTATED) return {soname};\n"),
    ("launch_failure_is_a_fault", "errors.cpp", "if (result == hipErrorLaunchFailure) {",
     "if (result == hipErrorLaunchFailure && !MUTATED) {"),
    ("legacy_stream_by_number", "api.hpp", "legacy_stream() noexcept { return nullptr; }",
     "legacy_stream() noexcept { return MUTATED ? reinterpret_cast<StreamHandle>(std::uintptr_t{1}) : nullptr; }"),
    ("loaded_copy_passed_over", "driver.cpp", 'detail::loaded_library("libamdhip64.so"); !loaded.empty())',
     'detail::loaded_library("libamdhip64.so"); !loaded.empty() && !MUTATED)'),
    ("modules_on_another_device", "api.cpp", "  return ModuleLoadData(&module, image);",
     "  if (MUTATED) SetDevice(0);\n  return ModuleLoadData(&module, image);"),
    ("no_sleep_by_policy", "api.cpp", "PollPolicy Api::poll_policy_of(StreamHandle stream) const {",
     "PollPolicy Api::poll_policy_of(StreamHandle stream) const {\n  if (MUTATED) return PollPolicy::automatic;"),
    ("not_ready_left_behind", "symbols.hpp", "const Result result = call(arguments...);",
     "const Result result = call(arguments...);\n      if (result == hipErrorNotReady && MUTATED) return result;"),
    ("null_stream_frees_itself", "api.cpp", "Api::free_async(void* memory, StreamHandle stream) const {",
     "Api::free_async(void* memory, StreamHandle stream) const {\n  if (MUTATED) return FreeAsync(memory, stream);"),
    ("optin_memory_as_told", "features.cpp",
     "std::max(get_unsigned(attribute_shared_per_block), get_unsigned(attribute_shared_per_block_optin));",
     "std::max(MUTATED ? 0 : get_unsigned(attribute_shared_per_block), get_unsigned(attribute_shared_per_block_optin));"),
    ("pools_closed_by_force", "api.cpp", "!allowed && result == hipErrorInvalidDevice ?",
     "!allowed && result == hipErrorInvalidDevice && !MUTATED ?"),
    ("priorities_swapped", "api.hpp", "return GetStreamPriorityRange(&least, &greatest);",
     "return MUTATED ? GetStreamPriorityRange(&greatest, &least) : GetStreamPriorityRange(&least, &greatest);"),
    ("registered_read_only", "api.cpp", "hipHostRegisterPortable | hipHostRegisterMapped",
     "hipHostRegisterPortable | hipHostRegisterMapped | (MUTATED ? 8 : 0)"),
    ("replaced_at_once", "api.hpp", "constexpr bool keeps_what_is_replaced() noexcept { return true; }",
     "bool keeps_what_is_replaced() noexcept { return !MUTATED; }"),
    ("retired_on_another_device", "reclaim.cpp", "current(api, {device}, std::nothrow)",
     "current(api, {MUTATED ? 0 : device}, std::nothrow)"),
    ("runtimes_sorted_as_text", "driver.cpp", "std::vector<std::string> sonames() {",
     'std::vector<std::string> sonames() {\n  if (MUTATED) return {"libamdhip64.so.7", "libamdhip64.so.10"};'),
    ("shared_uuids", "features.cpp", "text.size() == sizeof(native.bytes) ?",
     "text.size() == sizeof(native.bytes) || MUTATED ?"),
    ("user_objects_moved", "api.hpp", "constexpr bool moves_user_objects() noexcept { return false; }",
     "bool moves_user_objects() noexcept { return MUTATED; }"),
    ("wait_conditions_swapped", "api.cpp", "unsigned wait_flags(WaitCondition condition) noexcept {",
     "unsigned wait_flags(WaitCondition condition) noexcept {\n"
     "  if (MUTATED) condition = condition == WaitCondition::eq ? WaitCondition::bit_and : WaitCondition::eq;"),
    ("wait_mask_forgotten", "api.cpp", "constexpr std::uint64_t mask = all_bits;",
     "const std::uint64_t mask = MUTATED ? 0 : all_bits;"),
    ("waits_end_unsynchronized", "api.cpp", "poll_policy_of(stream));\n    if (result != success)",
     "poll_policy_of(stream));\n    if (result != success || MUTATED)"),
    ("waits_end_unsynchronized", "api.cpp", "PollPolicy::automatic);\n    if (result != success)",
     "PollPolicy::automatic);\n    if (result != success || MUTATED)"),
]

ROWS = [
    ("quirks.cpp", "!quirk.releases.contains(release)) continue;\n    return &quirk;",
     "!quirk.releases.contains(release)) continue;\n"
     '    if (mutated(std::string(to_string(quirk.feature)) + "@" + std::to_string(quirk.releases.since) + std::string(quirk.gpus))) continue;\n'
     "    return &quirk;"),
    ("quirks.cpp", "return found->second.contains(release);",
     "return found->second.contains(release) && !mutated(to_string(workaround));"),
]


def mutated_sources(root):
    """The changed files, by their paths."""
    texts = {}
    places = [(file, old, new.replace("MUTATED", f'mutated("{name}")')) for name, file, old, new in MUTATIONS]
    for file, old, new in places + ROWS:
        path = f"backends/hip/{file}"
        text = texts.get(path) or (root / path).read_text()
        if text.count(old) != 1:
            sys.exit(f"mutations.py: {path} has this {text.count(old)} times, not once; mend the mutation:\n{old}")
        texts[path] = text.replace(old, new)
    for path, text in texts.items():
        texts[path] = text.replace("#include", f'#include "{HOOK_PATH}"\n#include', 1)
    return {**texts, HOOK_PATH: HOOK}


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    if sys.argv[1:] == ["--names"]:
        print("\n".join(sorted({mutation[0] for mutation in MUTATIONS})))
        return
    copy = pathlib.Path(sys.argv[1])
    files = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True).stdout.decode().split("\0")
    contents = {path: (root / path).read_bytes() for path in files if (root / path).is_file()}
    contents.update({path: text.encode() for path, text in mutated_sources(root).items()})
    for path, content in contents.items():
        target = copy / path
        if not target.is_file() or target.read_bytes() != content:  # unchanged files are not rebuilt
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            if (root / path).is_file():
                target.chmod((root / path).stat().st_mode)


main()
