#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# driver.sh <mluop>: how the driver answers a wrong command line: status 2 and a sentence.
set -uo pipefail
mluop=$1
failed=0

# refuses <part of the sentence> <arguments of mluop>...
refuses() {
  local part=$1 output status
  shift
  output=$("$mluop" "$@" 2>&1)
  status=$?
  if [ $status != 2 ] || ! grep -qF -- "$part" <<<"$output"; then
    echo "mluop $*: must end with 2 and say '$part', got $status and: $output" >&2
    failed=1
  fi
}

refuses 'the command must be one of list, describe, check, bitwise, perf, got nosuch' nosuch
refuses 'got none'
refuses 'got nosuch' describe nosuch
refuses '--threads' check --threads 0
refuses '--set must be one of basic, large, networks, got nosuch' check --set nosuch
refuses '--op must be an operator or a family, got nosuch; there are' check --op nosuch
refuses 'psamask: psamask_forward psamask_backward' check --op nosuch
refuses 'none of --op psamask in --set large' check --op psamask --set large
refuses '--file must be a readable file, got /nosuch' check --file /nosuch
refuses '--isa must be one of' check --isa nosuch
refuses 'N must be given once' check 'psamask_forward N=1 N=2 H=4 W=4 psa_type=0 h_mask=3 w_mask=3'

"$mluop" check --help | grep -qF 'basic, large, networks' || { echo "--help must name the sets" >&2; failed=1; }
"$mluop" describe roiaware_pool3d_forward | grep -qF 'argmax=given|absent' ||
  { echo "describe must name the tensor that may be absent" >&2; failed=1; }
exit $failed
