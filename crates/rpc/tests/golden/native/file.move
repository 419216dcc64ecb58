file.move {"files":[1],"job":7,"to":"top"}

{
  "results": [
    {
      "job": 7,
      "ok": true
    }
  ]
}
asked: Files { files: [1], what: Top } [7]
