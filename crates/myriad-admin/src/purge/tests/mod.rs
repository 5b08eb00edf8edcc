//! Tests of purges, and of cache keys.

mod keys;
mod requests;
mod run;
