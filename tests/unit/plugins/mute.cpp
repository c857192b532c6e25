// SPDX-License-Identifier: Apache-2.0

// A shared object that exports no weir_plugin.
extern "C" int weir_test_mute();
extern "C" int weir_test_mute() { return 0; }
