// Every file of the page, written by ui/build.mjs.
&[
    ("assets/icon-130C444C.svg", include_bytes!("assets/icon-130C444C.svg")),
    ("assets/page-SCFPLXQT.js", include_bytes!("assets/page-SCFPLXQT.js")),
    ("assets/page-X22MXUB2.css", include_bytes!("assets/page-X22MXUB2.css")),
    ("index.html", include_bytes!("index.html")),
]
