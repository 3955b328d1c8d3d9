window.BENCHMARK_DATA = {
  "lastUpdate": 1573968123092,
  "repoUrl": "https://github.com/acme/engine",
  "entries": {
    "Python": [
      {
        "commit": {
          "author": { "email": "a@example.com", "name": "A", "username": "a" },
          "committer": { "email": "a@example.com", "name": "A", "username": "a" },
          "distinct": true,
          "id": "be395fa45085f9d6d7723f39ef4ea4a1e7d2c71b",
          "message": "add a benchmark",
          "timestamp": "2019-11-17T14:11:08+09:00",
          "tree_id": "445685b855eb924cfabb2480b04918aee14352f5",
          "url": "https://github.com/acme/engine/commit/be395fa45085f9d6d7723f39ef4ea4a1e7d2c71b"
        },
        "date": 1573968123092,
        "tool": "pytest",
        "benches": [
          {
            "name": "bench.py::test_fib_10",
            "value": 50000,
            "unit": "iter/sec",
            "range": "stddev: 0.0000204",
            "extra": "mean: 0.00002 sec\nrounds: 28249"
          }
        ]
      }
    ],
    "Go": [
      {
        "commit": { "id": "03aa097a1cf3034a1d4f17d8d1cf0fc1c51cac31", "message": "go", "url": "" },
        "date": 1573960000000,
        "tool": "go",
        "benches": [
          { "name": "BenchmarkFib10", "value": "300", "unit": "ns/op", "extra": "1 times" },
          { "name": "BenchmarkFib10", "value": 320, "unit": "ns/op", "extra": "1 times" },
          { "name": "BenchmarkFib10", "value": 310, "unit": "ns/op", "extra": "1 times" },
          { "name": "BenchmarkFib10", "value": 24, "unit": "B/op" },
          { "name": "BenchmarkNone", "value": 0, "unit": "allocs/op" }
        ]
      }
    ]
  }
}
