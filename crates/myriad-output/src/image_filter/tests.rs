//! Pictures as a configuration makes them.
