#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests of the entropy example: test.sh ENTROPY_PROGRAM. Runs it on the default device with files of many sizes and with all
# options. Compares each result with the CPU's result (--verify), with known answers, or with an expected error message.
set -euo pipefail

entropy=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
passed=0 failed=0

report() {  # STATUS NAME [OUTPUT]
  if [ "$1" = 0 ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED: %s\n%s\n' "$2" "${3-}"
  fi
}

# expect NAME PATTERN ARGUMENT…: the program must succeed and print a match of the pattern.
expect() {
  local name=$1 pattern=$2 output
  shift 2
  if output=$("$entropy" "$@" 2>&1) && grep -Eq -- "$pattern" <<<"$output"; then report 0 "$name"; else report 1 "$name" "$output"; fi
}

# refuse NAME PATTERN ARGUMENT…: the program must fail with one line that matches the pattern.
refuse() {
  local name=$1 pattern=$2 output status=0
  shift 2
  output=$("$entropy" "$@" 2>&1) || status=$?
  if [ "$status" != 0 ] && [ "$status" -lt 124 ] && grep -Eq -- "$pattern" <<<"$output"; then
    report 0 "$name"
  else
    report 1 "$name" "status $status: $output"
  fi
}

# misuse NAME PATTERN ARGUMENT…: the program must exit with status 2 and print a line that matches the pattern.
misuse() {
  local name=$1 pattern=$2 output status=0
  shift 2
  output=$(timeout 60 "$entropy" "$@" 2>&1) || status=$?
  if [ "$status" = 2 ] && grep -Eq -- "$pattern" <<<"$output"; then report 0 "$name"; else report 1 "$name" "status $status: $output"; fi
}

random() { head -c "$1" /dev/urandom; }
zeros() { head -c "$1" /dev/zero; }
agrees='"verified":\{"agrees":true'
quick=(--verify --json --no-png)

# Files with known answers.
zeros 100000 >"$folder/zeros"
expect "zeros" '"entropy_bits_per_byte":0\.0,' "$folder/zeros" "${quick[@]}"
for value in {0..255}; do printf %b "\\x$(printf %02x "$value")"; done >"$folder/each"
for _ in {1..300}; do cat "$folder/each"; done >"$folder/even"
expect "each byte as often" '"entropy_bits_per_byte":8\.0,' "$folder/even" "${quick[@]}"

# Sizes around multiples of words, blocks, pieces, chunks and rounds. Chunks of 64 KiB.
for size in 1 7 8 9 511 512 513 4095 4096 4097 65535 65536 65537 262144 262145 327681 1000003; do
  random "$size" >"$folder/size"
  expect "random, $size bytes" "$agrees" "$folder/size" "${quick[@]}" --chunk 64KiB --block 4096
done

# A file that uses each slot many times, with random, constant and machine code parts in turn.
{ random 3000000; zeros 2000000; cat "$entropy"; random 1234567; } >"$folder/long"
for block in 256 512 32768; do
  expect "blocks of $block" "$agrees" "$folder/long" "${quick[@]}" --chunk 64KiB --block "$block"
done
for slots in 1 2 7; do
  expect "$slots slots" "$agrees" "$folder/long" "${quick[@]}" --chunk 64KiB --slots "$slots"
done
for readers in 1 3 8; do
  expect "$readers readers" "$agrees" "$folder/long" "${quick[@]}" --chunk 128KiB --readers "$readers"
done
expect "repeated, with ceilings" '"share_of_the_slower":[0-9]' "$folder/long" "${quick[@]}" --chunk 64KiB --repeat 3 --ceilings

# Without its preferred features, the program must compute the same result in another way.
export WEIR_DISABLE_FEATURES
WEIR_DISABLE_FEATURES=wait_value_32
expect "events in place of values" "\"ring\":\"events\".*$agrees" "$folder/long" "${quick[@]}" --chunk 64KiB
WEIR_DISABLE_FEATURES=graph_capture
expect "steps in place of graphs" "\"graph_replay\":false.*$agrees" "$folder/long" "${quick[@]}" --chunk 64KiB
WEIR_DISABLE_FEATURES=graph_capture,write_value_32,block_cooperation
expect "none of them" "\"graph_replay\":false,\"ring\":\"events\".*$agrees" "$folder/long" "${quick[@]}" --chunk 64KiB
unset WEIR_DISABLE_FEATURES

# The picture must be a PNG file.
expect "picture" 'picture +.*map\.png' "$folder/long" --png "$folder/map.png"
if [ "$(head -c 8 "$folder/map.png" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ]; then report 0 "PNG"; else report 1 "PNG"; fi

# An existing file must be replaced completely or stay unchanged, and only a regular file may be replaced.
unharmed() {  # NAME FILE: it must be unchanged, with nothing else left in its folder
  if [ "$(cat "$2")" = "precious" ] && [ "$(ls -A "$folder/out")" = "$(basename "$2")" ]; then
    report 0 "$1"
  else
    report 1 "$1" "$(ls -lA "$folder/out")"
  fi
}
mkdir "$folder/out"
cp "$folder/long" "$folder/input"
ln "$folder/input" "$folder/hard"
ln -s input "$folder/soft"
for name in input ./input hard soft; do
  misuse "picture over the input, by the name $name" 'is the file that is measured' "$folder/input" --png "$folder/$name"
  misuse "picture over the input, which has the name $name" 'is the file that is measured' "$folder/$name" --png "$folder/input"
done
if cmp -s "$folder/long" "$folder/input"; then report 0 "input is whole"; else report 1 "input is whole"; fi
ln -s nosuch "$folder/nowhere"
misuse "picture at a link to nothing" 'is a link to nothing' "$folder/long" --png "$folder/nowhere"
mkfifo "$folder/fifo"
misuse "picture at a pipe" 'regular files only' "$folder/long" --png "$folder/fifo"
misuse "picture at a folder" 'regular files only' "$folder/long" --png "$folder/out"
for node in /dev/null /dev/full; do
  [ -c "$node" ] || continue
  # Use a link to the device, so that a program that deletes unwritable files deletes only the link.
  ln -s "$node" "$folder/node"
  misuse "picture at $node" 'regular files only' "$folder/long" --png "$folder/node"
  if [ -L "$folder/node" ] && [ -c "$node" ]; then report 0 "$node is there"; else report 1 "$node is there"; fi
  rm -f "$folder/node"
done
# A limit on file sizes simulates a full disk. The kernels are already compiled at this point.
echo precious >"$folder/out/map.png"
full() (
  trap '' XFSZ
  ulimit -f 40
  "$entropy" "$folder/long" --png "$folder/out/map.png" 2>&1
)
status=0
output=$(full) || status=$?
if [ "$status" = 1 ] && grep -q "map.png' cannot be written" <<<"$output"; then report 0 "full disk"; else report 1 "full disk" "$status: $output"; fi
unharmed "full disk: the file that was there" "$folder/out/map.png"
chmod 640 "$folder/out/map.png"
ln -s out/map.png "$folder/link.png"
expect "picture through a link" 'picture' "$folder/long" --png "$folder/link.png"
if [ -L "$folder/link.png" ] && [ "$(stat -c %a "$folder/out/map.png")" = 640 ] && [ "$(ls -A "$folder/out")" = map.png ] &&
  head -c 4 "$folder/out/map.png" | grep -q PNG; then
  report 0 "picture through a link: the link and the mode stay"
else
  report 1 "picture through a link: the link and the mode stay" "$(ls -lA "$folder" "$folder/out")"
fi

# Expected errors.
: >"$folder/empty"
mkfifo "$folder/pipe"
refuse "missing file" 'nosuch.*No such file' "$folder/nosuch"
refuse "directory" 'is a directory' "$folder"
refuse "empty file" 'is empty' "$folder/empty"
refuse "standard input" 'standard input is not read' -
refuse "pipe" 'has no size of its own' "$folder/pipe"
refuse "character device" 'has no size of its own' /dev/zero
if [ "$(id -u)" != 0 ]; then
  random 10 >"$folder/secret"
  chmod 0 "$folder/secret"
  refuse "unreadable file" 'Permission denied' "$folder/secret"
fi
# If a file shrinks while it is read, no thread and no stream may be left waiting.
shrink() {  # during reading
  local rounds=0
  truncate -s 1T "$folder/shrinking" || return 0  # the file system does not support this size
  "$entropy" "$folder/shrinking" --no-png >"$folder/output" 2>&1 &
  local program=$! status=0
  until grep -Eq '^(rchar|read_bytes): [0-9]{9,}' "/proc/$program/io" 2>/dev/null || [ $((rounds += 1)) = 600 ]; do sleep 0.1; done
  truncate -s 1000000 "$folder/shrinking"
  timeout 60 tail --pid="$program" -f /dev/null || kill "$program"
  wait "$program" || status=$?
  [ "$status" = 1 ] && grep -q 'did another program change it' "$folder/output"
}
if shrink; then report 0 "shrinking file"; else report 1 "shrinking file" "$(cat "$folder/output")"; fi

misuse "odd block size" '--block 1000: must be a power of two' "$folder/long" --block 1000
misuse "block size 0" '--block 0: must be a power of two' "$folder/long" --block 0
misuse "negative block size" "--block: '-1' is not a power of two" "$folder/long" --block=-1
misuse "empty device" '--device: it is empty' "$folder/long" --device ''
misuse "empty picture" '--png: it is empty' "$folder/long" --png ''
if [ -c /dev/full ]; then
  status=0
  output=$("$entropy" "$folder/each" --no-png 2>&1 >/dev/full) || status=$?
  if [ "$status" = 1 ] && grep -q 'the result cannot be written: No space' <<<"$output"; then
    report 0 "full output"
  else
    report 1 "full output" "status $status: $output"
  fi
fi
misuse "chunk size 0" '--chunk 0: must be a power of two' "$folder/long" --chunk 0
misuse "no slots" 'slots' "$folder/long" --slots 0
misuse "no file" 'usage: entropy FILE'
misuse "two files" 'usage: entropy FILE' "$folder/long" "$folder/even"
misuse "unknown option" 'usage: entropy FILE' "$folder/long" --bogus
misuse "unknown option and no file" 'not expected: --bogus' --bogus
refuse "unknown device" 'nosuch' "$folder/long" --device nosuch
refuse "picture in a folder that is not there" 'nosuch/map.png' "$folder/long" --png "$folder/nosuch/map.png"

printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
