#!/usr/bin/env bash
# A map occupies its engine until it is over, whether or not its call waits for that: on the fake
# driver, whose maps take 300 ms, by the statistics. Ends with `N passed, N failed`.
# shellcheck source=tests/stage.sh
. "$(dirname "$0")/../stage.sh"
export OCL_ICD_VENDORS=$build/tests/fake_driver/libfake-opencl.so BATON_STATS=$scratch/stats
export OPENCL_LAYERS=$build/libbaton-layer.so FAKE_CL='duration MapBuffer 300000'

for way in "blocking" "later" "later BATON_TEST_QUEUE=1"; do
    read -r how extra <<<"$way"
    rm -f "$BATON_STATS"
    env ${extra:+"$extra"} timeout 300 "$build/tests/opencl/layer-slow-map" "$how"
    verdict $? "$way: the program ends well"
    python3 -c 'import sys; sys.exit(not float(sys.argv[1]) >= 300)' "$(number copy_occupying_ms)"
    verdict $? "$way: the map occupies its engine for $(number copy_occupying_ms) ms of at least 300"
done
report
