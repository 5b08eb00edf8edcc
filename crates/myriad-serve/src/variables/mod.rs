//! Tests of what variables show: they need a compiled site.

mod testing;
mod tests;
