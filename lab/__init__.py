"""Makes the laboratory's tests the package `lab.tests`, so that they do not hide behind those of the product."""
