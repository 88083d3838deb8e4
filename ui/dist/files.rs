// Every file of the page, written by ui/build.mjs.
&[
    ("assets/icon-130C444C.svg", include_bytes!("assets/icon-130C444C.svg")),
    ("assets/page-OKCF65PL.css", include_bytes!("assets/page-OKCF65PL.css")),
    ("assets/page-V4IBC5VQ.js", include_bytes!("assets/page-V4IBC5VQ.js")),
    ("index.html", include_bytes!("index.html")),
]
