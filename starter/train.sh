#!/bin/sh
# Train both directions of the starter model at the same time, one process each: two runs of one thread never wait for each
# other, and both are as far as the time allows. Stopped runs resume when this is called again.
#
#     starter/train.sh DATA OUTPUT MINUTES
#
# DATA is the folder that starter/select_pairs.py wrote. The learning rate reaches zero after MINUTES.
set -eu
data=$1 output=$2 minutes=$3
mkdir -p "$output"
export OMP_NUM_THREADS=1

train() {
    nice -n 10 qkv train translator --recipe tatoeba --pairs "$data/train.$1-$2.tsv" --valid-pairs "$data/valid.$1-$2.tsv" \
        --source-language "$1" --target-language "$2" --output "$output/$1-$2" --resume --minutes "$minutes" \
        --width 192 --heads 6 --ffn-width 576 --encoder-depth 6 --decoder-depth 2 --vocab-size 8000 \
        --batch-tokens 1024 --learning-rate 3e-3 --warmup-steps 300 --validate-every 300 --processes 1 >>"$output/$1-$2.log" 2>&1 &
}

train en de
train de en
wait
