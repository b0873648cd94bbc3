#!/bin/sh
# The ten words that occur most often, by counting them in a table.
export LC_ALL=C
tr -cs 'a-z' '\n' < "$1" | awk '{ n[$0]++ } END { for (w in n) print n[w], w }' | sort -k1,1nr -k2 | head -n 10
