#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ccache.sh COMPILER ARGUMENT…: compiles through ccache, but makes precompiled headers anew. GCC keeps the times of the headers
# in them: with one from the cache, a fresh clone in the folder of an earlier one sees each header twice.
case " $* " in
  *" c++-header "*) exec "$@" ;;
esac
exec ccache "$@"
