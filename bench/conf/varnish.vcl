vcl 4.1;

# Varnish with nginx and php-fpm as the backend. It compresses a page once, when it stores it.
backend default {
    .host = "127.0.0.1";
    .port = "{{origin_port}}";
}

sub vcl_recv {
    # The only cookie in the benchmark is WordPress's login: such a request is passed to the backend.
    if (req.method == "PURGE") {
        return (purge);
    }
}

sub vcl_backend_response {
    set beresp.ttl = 1h;
    if (beresp.http.Content-Type ~ "text|css|javascript|json|xml") {
        set beresp.do_gzip = true;
    }
}

sub vcl_deliver {
    if (obj.hits > 0) {
        set resp.http.X-Cache = "HIT";
    } else {
        set resp.http.X-Cache = "MISS";
    }
}
