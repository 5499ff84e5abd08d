"""Do errors on recorded episodes predict success in closed loop, and under perturbation?"""
