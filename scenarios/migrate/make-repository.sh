#!/bin/sh
# Makes the git repository graph-data. Each folder of history/ is a commit, made on the day that it is named after.
set -e
git init -q -b main graph-data
for state in history/*; do
  day=${state#history/}
  git -C graph-data rm -rq --ignore-unmatch .
  cp -R "$state/." graph-data/
  git -C graph-data add -A
  GIT_AUTHOR_DATE="${day}T00:00:00Z" GIT_COMMITTER_DATE="${day}T00:00:00Z" \
    git -C graph-data -c user.name=story -c user.email=story@example.com commit -q -m "$day"
done
