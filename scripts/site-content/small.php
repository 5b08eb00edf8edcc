<?php
// A small page, about one kilobyte, the same every time. For tests and benchmarks; WordPress is not loaded.
header('Content-Type: text/html; charset=UTF-8');
echo "<!doctype html>\n<title>small</title>\n<h1>A small page</h1>\n";
foreach (array('red', 'orange', 'yellow', 'green', 'blue', 'indigo', 'violet') as $number => $colour) {
    echo '<p id="colour-', $number, '">Colour number ', $number, ' of the rainbow is ', $colour,
        ", and a visitor reads this line in about two seconds.</p>\n";
}
