//! What variables show: they need a compiled site.

mod shown;
mod testing;
