vcl 4.1;

# Many small pages, or one page with a short validity.
backend default {
    .host = "127.0.0.1";
    .port = "{{origin_port}}";
}

sub vcl_hash {
    hash_data(req.url);
    return (lookup);
}

sub vcl_backend_response {
    set beresp.ttl = {{valid}};
    set beresp.grace = 1h;
}

sub vcl_deliver {
    if (obj.hits > 0) {
        set resp.http.X-Cache = "HIT";
    }
}
