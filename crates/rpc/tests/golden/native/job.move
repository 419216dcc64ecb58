job.move {"by":-3,"jobs":[7]}

{
  "results": [
    {
      "job": 7,
      "ok": true
    }
  ]
}
asked: Move(By(-3)) [7]
