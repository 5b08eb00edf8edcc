//! The Myriad web accelerator.

fn main() {}
