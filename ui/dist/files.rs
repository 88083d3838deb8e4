// Every file of the page, written by ui/build.mjs.
&[
    ("assets/icon-130C444C.svg", include_bytes!("assets/icon-130C444C.svg")),
    ("assets/page-4E2BNW4N.css", include_bytes!("assets/page-4E2BNW4N.css")),
    ("assets/page-4HPARCWX.js", include_bytes!("assets/page-4HPARCWX.js")),
    ("index.html", include_bytes!("index.html")),
]
