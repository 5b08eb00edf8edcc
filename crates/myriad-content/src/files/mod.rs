//! Content that this server has itself: files.

mod precompressed;
mod static_file;
#[cfg(test)]
mod tests;

pub use static_file::FileHandler;
