// Every file of the page, written by ui/build.mjs.
&[
    ("assets/icon-130C444C.svg", include_bytes!("assets/icon-130C444C.svg")),
    ("assets/page-TGHLF7HX.css", include_bytes!("assets/page-TGHLF7HX.css")),
    ("assets/page-ZPC7272Z.js", include_bytes!("assets/page-ZPC7272Z.js")),
    ("index.html", include_bytes!("index.html")),
]
