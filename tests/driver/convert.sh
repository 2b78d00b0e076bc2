#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# convert.sh <mluop>: tests that mluop convert reads MLU-OPS's test cases, that check accepts the results, and that a
# wrong file is refused with its line.
set -uo pipefail
mluop=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# A file counts the failures: the functions below run in subshells.
fail() {
  echo "$*" >&2
  : >"$folder/failed"
}

# tensor <input|output> <dtype> <layout> <dims> <contents>
tensor() {
  local dims=''
  for dim in $4; do dims+=" dims: $dim"; done
  echo "$1 { id: \"a\" shape: {$dims } layout: LAYOUT_$3 dtype: DTYPE_$2 $5 }"
}
random='random_data { seed: 23 upper_bound: 1 lower_bound: -1 distribution: UNIFORM }'

# converts <name> <case line>: the file <name>.prototxt comes from stdin.
converts() {
  cat >"$folder/$1.prototxt"
  "$mluop" convert "$folder/$1.prototxt" >"$folder/out" 2>&1 || fail "convert $1: $(cat "$folder/out")"
  grep -qxF -- "$2" "$folder/$1.txt" || fail "convert $1 must write '$2', got: $(cat "$folder/$1.txt")"
}

{
  echo 'op_name: "masked_im2col_forward"  # a comment'
  tensor input FLOAT NCHW '1 2 5 6' "$random"
  tensor input INT32 ARRAY 3 'value_i: [-1, 4, 7]'
  tensor input INT32 ARRAY 3 'random_data { lower_bound: -2 upper_bound: 8 }'
  tensor output FLOAT ARRAY '12 3' "$random"
  echo 'masked_im2col_forward_param: { kernel_h: 3 kernel_w: 2, pad_h: -1; pad_w: 0 }'
  echo 'test_param: { error_func: DIFF3 error_threshold: 0.0 baseline_device: CPU }'
} | converts im2col 'masked_im2col_forward C=2 H=5 W=6 M=3 kernel_h=3 kernel_w=2 pad_h=-1 pad_w=0 dtype=float data=file'

# MLU-OPS takes pooled_height, pooled_width and output_dim from the shapes.
{
  echo "op_name: 'psroipool_forward'"
  tensor input FLOAT NHWC '2 9 8 12' "$random"
  tensor input FLOAT ARRAY '2 5' 'value_f: [0, 2, 3.5, 6, 9] value_f: 1 value_f: -1e1 value_f: 3 value_f: 6 value_f: 9'
  tensor output FLOAT NHWC '2 2 2 3' ''
  tensor output INT32 NHWC '2 2 2 3' ''
  echo 'psroipool_forward_param { spatial_scale: 0.5 group_size: 2 }'
} | converts psroipool 'psroipool_forward N=2 H=9 W=8 R=2 pooled_height=2 pooled_width=2 spatial_scale=0.5 group_size=2 output_dim=3 data=file'

# Both directions of border_align have border_align_param.
{
  echo 'op_name: "border_align_backward"'
  tensor input HALF NHWC '1 7 4 2' "$random"
  tensor input HALF ARRAY '1 7 4' 'random_data { upper_bound_double: 6 lower_bound_double: 0 }'
  tensor input INT32 NHWC '1 7 4 2' 'random_data { seed: 1 upper_bound: 5 lower_bound: 0 distribution: UNIFORM }'
  tensor output HALF NHWC '1 5 6 8' ''
  echo 'border_align_param: { pool_size:10 } handle_param { round_mode: ROUND_TO_EVEN }'
} | converts border 'border_align_backward N=1 K=7 C=2 H=5 W=6 pool_size=10 dtype=half data=file'

# Bits in hexadecimal, and no attributes.
{
  echo 'op_name: "masked_col2im_forward"'
  tensor input HALF ARRAY '1 2' 'value_h: "3c00" value_h: c000'
  tensor input INT32 ARRAY '2' 'value_i: 0 value_i: 2'
  tensor input INT32 ARRAY '2' 'value_i: 1 value_f: 1'
  tensor output HALF NCHW '1 1 3 2' ''
} | converts col2im 'masked_col2im_forward C=1 M=2 H=3 W=2 dtype=half data=file'
python3 - "$folder/col2im.npz" <<'PYTHON' || fail 'convert must store the bits and numbers of the file'
import struct, sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
assert archive.testzip() is None
assert archive.namelist() == ["col.npy", "mask_h_idx.npy", "mask_w_idx.npy"]
assert archive.read("col.npy")[-4:] == b"\x00\x3c\x00\xc0"
assert archive.read("mask_w_idx.npy")[-8:] == struct.pack("<ii", 1, 1)
PYTHON

# An absent argmax, and inputs without contents: the driver generates them.
{
  echo 'op_name: "roiaware_pool3d_backward"'
  tensor input INT32 ARRAY '2 1 2 3 4' ''
  tensor input FLOAT ARRAY '2 1 2 3 5' ''
  tensor output FLOAT ARRAY '9 5' ''
  echo 'roiaware_pool3d_backward_param { pool_method: 1 boxes_num: 2 out_x: 1 out_y: 2 out_z: 3 channels: 5 max_pts_each_voxel: 4 }'
} | converts roiaware 'roiaware_pool3d_backward P=9 pool_method=1 boxes_num=2 out_x=1 out_y=2 out_z=3 channels=5 max_pts_each_voxel=4 dtype=float argmax=absent'
[ ! -e "$folder/roiaware.npz" ] || fail 'convert must write no data for inputs without contents'

output=$("$mluop" check --file "$folder"/*.txt 2>&1) && grep -qF '5 passed, 0 failed' <<<"$output" ||
  fail "check must accept the converted files, got: $output"

# refuses <file:line: message>: the file bad.prototxt comes from stdin.
refuses() {
  local output status
  cat >"$folder/bad.prototxt"
  output=$("$mluop" convert "$folder/bad.prototxt" 2>&1)
  status=$?
  if [ $status != 2 ] || ! grep -qF -- "$folder/bad.prototxt:$1" <<<"$output"; then
    fail "convert must exit with 2 and print 'bad.prototxt:$1', got $status and: $output"
  fi
  [ ! -e "$folder/bad.txt" ] && [ ! -e "$folder/bad.npz" ] || fail "convert must write nothing for a wrong file: $1"
}
name='op_name: "torchvision_ps_roi_pool_backward"'
x="$(tensor input FLOAT NCHW '1 1 2 2' "$random") $(tensor input FLOAT ARRAY '1 5' "$random")"
y=$(tensor output FLOAT NCHW '1 4 3 3' '')
param='torchvision_ps_roi_pool_param { spatial_scale: 1 }'
lines() { printf '%s\n' "$@"; }
lines 'op_name: "nosuch"' | refuses '1: op_name must be a name of `mluop list`, got nosuch'
lines "$x" | refuses '1: the file must have an op_name'
lines "$name" "$x" "$y" "$param" 'nosuch: 1' | refuses '5: a field must be one of op_name, op_type, input, output, torchvision_ps_roi_pool_backward_param, torchvision_ps_roi_pool_param, handle_param, test_param, got nosuch'
lines "$name" 'transpose_param { }' | refuses '2: a field must be one of op_name, '
lines "$name" "$x" "$y" "${param%\}}" ' scale: 2 }' | refuses '5: an attribute must be one of pooled_height, pooled_width, spatial_scale, got scale'
lines "$name" "$x" "$y" "${param/spatial_scale/pooled_width}" "$param" 'op_type: A' |
  refuses '1: torchvision_ps_roi_pool_backward: grad_output.shape[3] must be pooled_width = 1, got 2'
lines "$name" "$x" "$y" "${param/spatial_scale: 1/pooled_width: 0.5}" | refuses '4: pooled_width must be an integer, got 0.5'
lines "$name" "$x" "$y" | refuses '1: the attribute spatial_scale must have a value, got none'
lines "$name" "$x" "$param" | refuses '1: torchvision_ps_roi_pool_backward must have 1 output, got 0'
lines "$name" "$x" "$(tensor output FLOAT NCHW '1 5 3 3' '')" "$param" |
  refuses '1: torchvision_ps_roi_pool_backward: grad_input.shape[1] must be O*pooled_height*pooled_width = 4, got 5'
lines "$name" "${x/random_data/random}" | refuses '2: a field of a tensor must be one of id, shape, layout, dtype, random_data, value_f, '
lines "$name" "${x/seed/sea}" | refuses '2: a field of random_data must be one of seed, lower_bound, '
lines "$name" "$x" "$(tensor output FLOAT NCHW '1 4 3 3' 'value_nosuch: 7')" "$param" |
  refuses '3: a field of a tensor must be one of id, shape, '
lines "$name" "${x/$random/value_f: [1, 2, 3, 4] random_data \{ nosuch: 3 \}}" "$y" "$param" |
  refuses '2: a field of random_data must be one of seed, '
lines "$name" "${x/UNIFORM/GAUSSIAN}" | refuses '2: distribution must be UNIFORM, got GAUSSIAN'
lines "$name" "${x/dims/dim}" | refuses '2: a field of shape must be dims, got dim'
lines "$name" "${x/DTYPE_FLOAT/DTYPE_INT8}" | refuses '2: dtype must be DTYPE_HALF'
lines "$name" "${x/LAYOUT_NCHW/LAYOUT_NONE}" | refuses '2: layout must be'
lines "$name" "${x/$random/value_f: 1}" | refuses '2: the tensor must have 4 values, got 1'
lines "$name" "${x/$random/value_h: \"3c00\" value_f: [1, 2, 3]}" | refuses '2: value_h must have 8 hexadecimal digits'
lines "$name" "${x/$random/value_h: [\"0x3c0000\", 1, 2, 3]}" | refuses '2: value_h must have 8 hexadecimal digits, got 0x3c0000'
lines "$name" "${x/$random/value_f: [1, 2, 3, a]}" | refuses '2: value_f must be a number, got a'
lines "$name" "$(tensor input INT32 ARRAY 1 'value_i: 3000000000')" | refuses '2: value_i must fit in int32, got 3000000000'
lines "$name" 'input { id: "a' | refuses '2: a string must end on its line'
lines "$name" 'input { id: "a"' | refuses '3: the block input must end with }, got the end of the file'
lines "$name" 'input' 'output' | refuses '3: input must have a colon or a block, got output'
lines "$name" '}' | refuses '2: a field must start with its name, got }'
lines "$name" 'op_type:' '}' | refuses '3: op_type must have a value, got }'
for _ in $(seq 40); do printf 'a {'; done | refuses '1: blocks must be nested at most 16 deep'

# Existing files stay.
lines mine >"$folder/im2col.txt"
"$mluop" convert "$folder/im2col.prototxt" >"$folder/out" 2>&1 && fail 'convert must not replace a file'
grep -qF "im2col.txt: must not exist yet" "$folder/out" && grep -qx mine "$folder/im2col.txt" ||
  fail "convert must say that the file exists, got: $(cat "$folder/out")"
mkdir "$folder/other"
"$mluop" convert --out "$folder/other" "$folder/im2col.prototxt" "$folder/col2im.prototxt" >/dev/null &&
  [ "$(ls "$folder/other")" = "$(printf '%s\n' col2im.npz col2im.txt im2col.npz im2col.txt)" ] ||
  fail "convert --out must write into the folder, got: $(ls "$folder/other")"

# --json names the file that was written, or the error.
mkdir "$folder/third"
"$mluop" convert --json "$folder/a.json" --out "$folder/third" "$folder/im2col.prototxt" /nosuch.prototxt \
  >/dev/null 2>&1
[ $? = 2 ] || fail 'convert must exit with 2 if a file is refused'
python3 - "$folder" <<'CHECK' || fail "convert --json must list both files, got: $(cat "$folder/a.json")"
import json, sys
document = json.load(open(sys.argv[1] + "/a.json"))
first, second = document["files"]
sys.exit(not (document["failed"] == 1 and first["cases"] == sys.argv[1] + "/third/im2col.txt"
              and "/nosuch.prototxt" in second["error"]))
CHECK

# A file that cannot be written leaves none, so that a second attempt succeeds. A limit of 0 stands for a full disk.
mkdir "$folder/full"
for name in im2col roiaware; do  # with data and without
  output=$(trap '' XFSZ && ulimit -f 0 && "$mluop" convert --out "$folder/full" "$folder/$name.prototxt" 2>&1) &&
    fail "convert must fail on a full disk: $name"
  grep -qF 'must be a writable file, got File too large' <<<"$output" && [ -z "$(ls "$folder/full")" ] ||
    fail "convert must leave no file on a full disk and say why, got: $(ls "$folder/full"), $output"
done
ln -s /nosuch/a.txt "$folder/full/im2col.txt"
output=$("$mluop" convert --out "$folder/full" "$folder/im2col.prototxt" 2>&1)
grep -qF 'im2col.txt: must be a writable file, got No such file' <<<"$output" && [ ! -e "$folder/full/im2col.npz" ] ||
  fail "convert must leave no .npz without its .txt, got: $(ls "$folder/full"), $output"

# A tensor beyond the memory is reported with its file, and the next file is converted. AddressSanitizer ends the process
# instead of throwing bad_alloc.
mkdir "$folder/fourth"
{
  echo 'op_name: "masked_col2im_forward"'
  tensor input FLOAT ARRAY '2000000 1000000' "$random"
  tensor input INT32 ARRAY '1000000' "$random"
  tensor input INT32 ARRAY '1000000' "$random"
  tensor output FLOAT NCHW '1 2000000 3 2' ''
} >"$folder/huge.prototxt"
"$mluop" convert --out "$folder/fourth" "$folder/huge.prototxt" "$folder/col2im.prototxt" >"$folder/out" 2>&1
status=$?
ldd "$mluop" | grep -q libasan || {
  [ $status = 2 ] && grep -qF "mluop: $folder/huge.prototxt: must fit in memory, got " "$folder/out" &&
    [ -e "$folder/fourth/col2im.txt" ]
} ||
  fail "convert must name the file that does not fit in memory and go on, got: $(cat "$folder/out")"

# --load and --file.
loads() {
  local part=$1 output
  shift
  output=$("$mluop" "$@" 2>&1)
  [ $? = 2 ] && grep -qF -- "$part" <<<"$output" || fail "mluop $* must print '$part', got: $output"
}
line='masked_im2col_forward C=2 H=5 W=6 M=3 kernel_h=3 kernel_w=2 pad_h=-1 pad_w=0'
"$mluop" check --load "$folder/im2col.npz" "$line" >/dev/null || fail 'check must take --load'
loads '--load must go with one case line, got 0' check --load "$folder/im2col.npz"
loads '--load must go with one case line, got 2' check "$line" "$line" --load "$folder/im2col.npz"
loads '--load must go with data=file, got data=bits' check --load "$folder/im2col.npz" "$line data=bits"
loads 'without an .npz file, got file' check "$line data=file"
loads 'nosuch.npz: must be a readable file, got No such file' check --load "$folder/nosuch.npz" "$line"
printf '# nothing\n' >"$folder/empty.txt"
loads 'empty.txt: must hold a case, got none' check --file "$folder/other/im2col.txt" "$folder/empty.txt"
[ ! -e "$folder/failed" ]
