//! Tests of generated responses, cache keys and subrequests, with complete configurations.

mod answers;
mod keys;
mod parts;
