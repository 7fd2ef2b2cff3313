"""report DATA OUT: makes OUT, one HTML page that needs nothing else, of what `tandem report` gathered in DATA."""
import json
import sys

import page

if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        data = json.load(file)
    if data["version"] != 1:
        sys.exit(f'{sys.argv[1]} has version {data["version"]}, this page is made of version 1')
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(page.render(data))
