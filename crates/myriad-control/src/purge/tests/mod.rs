//! Purges of pages that tests have stored, and the keys under which pages are.

mod keys;
mod requests;
mod run;
