//! Purges of pages stored by the tests, and keys of pages.

mod keys;
mod requests;
mod run;
