//! Content codings: gzip, brotli and zstd, streaming and whole.
