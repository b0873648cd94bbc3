window.BENCHMARK_DATA = {
  "lastUpdate": 1793872800000,
  "repoUrl": "https://example.org/project",
  "entries": {
    "Rust Benchmark": [
      {
        "commit": {
          "author": {
            "email": "a@example.org",
            "name": "A",
            "username": "a"
          },
          "committer": {
            "email": "a@example.org",
            "name": "A",
            "username": "a"
          },
          "distinct": true,
          "id": "1f0e1f0e1f0e1f0e1f0e1f0e1f0e1f0e1f0e1f0e",
          "message": "first",
          "timestamp": "2026-11-01T10:00:00Z",
          "tree_id": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
          "url": "https://example.org/commit/1f0e1f0e1f0e1f0e1f0e1f0e1f0e1f0e1f0e1f0e"
        },
        "date": 1793786400000,
        "tool": "cargo",
        "benches": [
          {
            "name": "fib_10",
            "range": "± 24",
            "unit": "ns/iter",
            "value": 135
          },
          {
            "name": "fib_20",
            "range": "± 755",
            "unit": "ns/iter",
            "value": 18149
          }
        ]
      },
      {
        "commit": {
          "author": {
            "email": "a@example.org",
            "name": "A",
            "username": "a"
          },
          "committer": {
            "email": "a@example.org",
            "name": "A",
            "username": "a"
          },
          "distinct": true,
          "id": "2a9b2a9b2a9b2a9b2a9b2a9b2a9b2a9b2a9b2a9b",
          "message": "second",
          "timestamp": "2026-11-01T10:00:00Z",
          "tree_id": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
          "url": "https://example.org/commit/2a9b2a9b2a9b2a9b2a9b2a9b2a9b2a9b2a9b2a9b"
        },
        "date": 1793872800000,
        "tool": "cargo",
        "benches": [
          {
            "name": "fib_10",
            "range": "± 10",
            "unit": "ns/iter",
            "value": 128
          },
          {
            "name": "fib_20",
            "range": "± 602",
            "unit": "ns/iter",
            "value": 17342
          }
        ]
      },
      {
        "commit": {
          "author": {
            "email": "a@example.org",
            "name": "A",
            "username": "a"
          },
          "committer": {
            "email": "a@example.org",
            "name": "A",
            "username": "a"
          },
          "distinct": true,
          "id": "2a9b2a9b2a9b2a9b2a9b2a9b2a9b2a9b2a9b2a9b",
          "message": "second",
          "timestamp": "2026-11-01T10:00:00Z",
          "tree_id": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
          "url": "https://example.org/commit/2a9b2a9b2a9b2a9b2a9b2a9b2a9b2a9b2a9b2a9b"
        },
        "date": 1793872900000,
        "tool": "cargo",
        "benches": [
          {
            "name": "fib_10",
            "range": "± 12",
            "unit": "ns/iter",
            "value": 129.5
          }
        ]
      }
    ],
    "Score": [
      {
        "commit": {
          "author": {
            "email": "a@example.org",
            "name": "A",
            "username": "a"
          },
          "committer": {
            "email": "a@example.org",
            "name": "A",
            "username": "a"
          },
          "distinct": true,
          "id": "1f0e1f0e1f0e1f0e1f0e1f0e1f0e1f0e1f0e1f0e",
          "message": "first",
          "timestamp": "2026-11-01T10:00:00Z",
          "tree_id": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
          "url": "https://example.org/commit/1f0e1f0e1f0e1f0e1f0e1f0e1f0e1f0e1f0e1f0e"
        },
        "date": 1793786400000,
        "tool": "customBiggerIsBetter",
        "benches": [
          {
            "name": "accuracy",
            "unit": "Points",
            "value": 91.5
          }
        ]
      },
      {
        "commit": {
          "author": {
            "email": "a@example.org",
            "name": "A",
            "username": "a"
          },
          "committer": {
            "email": "a@example.org",
            "name": "A",
            "username": "a"
          },
          "distinct": true,
          "id": "2a9b2a9b2a9b2a9b2a9b2a9b2a9b2a9b2a9b2a9b",
          "message": "second",
          "timestamp": "2026-11-01T10:00:00Z",
          "tree_id": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
          "url": "https://example.org/commit/2a9b2a9b2a9b2a9b2a9b2a9b2a9b2a9b2a9b2a9b"
        },
        "date": 1793872800000,
        "tool": "customSmallerIsBetter",
        "benches": [
          {
            "name": "binary",
            "unit": "KiB",
            "value": 812
          }
        ]
      }
    ]
  }
}
