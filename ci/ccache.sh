#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ccache.sh COMPILER ARGUMENT…: compiles through ccache, except for precompiled headers. GCC stores the headers' times in
# those: with a cached one, a fresh clone in the folder of an earlier one would include each header twice.
case " $* " in
  *" c++-header "*) exec "$@" ;;
esac
exec ccache "$@"
