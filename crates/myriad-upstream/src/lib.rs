//! Origins: peers, pools, retries, FastCGI and HTTP clients.
