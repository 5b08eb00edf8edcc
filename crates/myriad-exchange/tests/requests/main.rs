//! Tests of generated responses, cache keys and subrequests with complete sites.

mod answers;
mod keys;
mod parts;
