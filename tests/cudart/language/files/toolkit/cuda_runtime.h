// SPDX-License-Identifier: Apache-2.0
// Stands for a CUDA toolkit's headers, in a folder that a Makefile names. Weir's own are read instead.
#error "a toolkit's header"
