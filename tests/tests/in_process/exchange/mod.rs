//! Tests of generated responses, cache keys, subrequests and variables with complete configurations.

mod answers;
mod keys;
mod parts;
mod rankings;
mod variables;
