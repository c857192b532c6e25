// SPDX-License-Identifier: Apache-2.0

// A shared object that needs a function which nothing has: it must fail when it is opened, not when it is called.
extern "C" int weir_test_function_that_nothing_has();
extern "C" int weir_test_call();
extern "C" int weir_test_call() { return weir_test_function_that_nothing_has(); }
