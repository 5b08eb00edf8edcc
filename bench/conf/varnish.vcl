vcl 4.1;

# Varnish before nginx and php-fpm: it compresses a page once, when it stores it.
backend default {
    .host = "127.0.0.1";
    .port = "{{origin_port}}";
}

sub vcl_recv {
    # The bench's only cookie is WordPress's log-in: such a request passes.
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
