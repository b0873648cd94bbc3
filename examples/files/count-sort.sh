#!/bin/sh
# The ten words that occur most often, by sorting all of them.
export LC_ALL=C
tr -cs 'a-z' '\n' < "$1" | sort | uniq -c | sort -k1,1nr -k2 | head -n 10 | awk '{ print $1, $2 }'
